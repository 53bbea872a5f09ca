import type { Problem } from '#shared/errors.ts'
import { TriangleAlert } from 'lucide-react'
import type { Trial, Verdict } from './useNewRun.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { deviceWords } from '#renderer/features/run/runFacts.ts'
import { CalibrationNumbers } from './CalibrationNumbers.tsx'
import { CalibrationSamples } from './CalibrationSamples.tsx'
import { problemWords } from './problems.ts'
import { Sentence } from './Sentence.tsx'

interface CheckStepProps {
  readonly verdict: Verdict
  readonly trial: Trial
  readonly problems: readonly Problem[]
  readonly isComplete: boolean
}

/** One real group on the longest row: what the run will need, and what the first completions earn. */
export function CheckStep({ verdict, trial, problems, isComplete }: CheckStepProps) {
  const { state, progress, error, result, isCurrent, start, cancel } = trial
  const canStart = isComplete && verdict.problems.length === 0
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 grow basis-80 text-muted text-pretty">
          Takes one step with one group of the longest row, for real, and tells what the run will need.
          Nothing of it is kept.
        </p>
        {state !== 'running' && (
          <Button disabled={!canStart} onClick={start}>
            {result === null ? 'Run the check' : 'Check again'}
          </Button>
        )}
      </div>
      {state === 'running' && (
        <TaskProgress
          progress={progress ?? { phase: 'Loading', done: 0, total: 4, unit: 'phases' }}
          onCancel={cancel}
        />
      )}
      {error !== null && state === 'failed' && <ErrorNote error={error} />}
      {problems.map((problem) => (
        <p key={`${problem.path} ${problem.message}`} className="text-sm text-bad">
          <Sentence text={problemWords(problem)} />
        </p>
      ))}
      {result !== null && (
        <div className={classes('grid gap-4', !isCurrent && 'opacity-60')}>
          {!isCurrent && state !== 'running' && (
            <p className="text-sm text-caution">Settings changed since this check. Run it again.</p>
          )}
          <p className="text-sm text-muted text-pretty">
            Tried on {deviceWords(result.device.kind)}. {result.device.reason}
          </p>
          <CalibrationNumbers result={result} />
          <Warnings sentences={result.warnings} />
          <CalibrationSamples result={result} />
        </div>
      )}
    </div>
  )
}

function Warnings({ sentences }: { sentences: readonly string[] }) {
  if (sentences.length === 0) return null
  return (
    <ul className="grid gap-1">
      {sentences.map((sentence) => (
        <li key={sentence} className="flex items-start gap-2 rounded bg-caution-soft px-3 py-2">
          <TriangleAlert size={14} aria-label="Warning" className="mt-0.5 shrink-0 text-caution" />
          <span className="text-pretty">
            <Sentence text={sentence} />
          </span>
        </li>
      ))}
    </ul>
  )
}

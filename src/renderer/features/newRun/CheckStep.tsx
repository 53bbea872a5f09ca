import type { Problem } from '#shared/errors.ts'
import { TriangleAlert } from 'lucide-react'
import { AllowKeys } from './AllowKeys.tsx'
import type { Trial, Verdict } from './useNewRun.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ErrorNote, TaskProgress, Progress } from '#renderer/kit/states.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { deviceWords } from '#renderer/parts/runFacts.ts'
import { problemWords } from './problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import type { ReactNode } from 'react'
import type { Calibration, StudyEstimate } from './useDraft.ts'
import { etaWords } from '#renderer/client/live.ts'
import {
  formatBytes,
  formatDuration,
  formatShare,
  formatShares,
  plural,
  formatCount,
  formatNumber,
} from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'

interface CheckStepProps {
  readonly verdict: Verdict
  readonly trial: Trial
  readonly problems: readonly Problem[]
  readonly isComplete: boolean
}

const changedNote = <p className="text-sm text-caution">Settings changed since this check. Run it again.</p>

/** Trial of one real group on the longest row: resource estimates and first rewards. */
export function CheckStep({ verdict, trial, problems, isComplete }: CheckStepProps) {
  const { state, progress, error, result, study, isCurrent, start, cancel } = trial
  const canStart = isComplete && verdict.problems.length === 0
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 grow basis-80 text-muted text-pretty">
          Takes one real step with one group on the longest row, and reports what the run will need. Nothing
          of it is kept.
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
        <div key={`${problem.path} ${problem.message}`} className="grid justify-items-start gap-2">
          <p className="text-sm text-bad">
            <Sentence text={problemWords(problem)} />
          </p>
          {problem.keys !== undefined && <AllowKeys keys={problem.keys} />}
        </div>
      ))}
      {result !== null && (
        <div className={classes('grid gap-4', !isCurrent && 'opacity-60')}>
          {!isCurrent && state !== 'running' && changedNote}
          <p className="text-sm text-muted text-pretty">
            Tried on {deviceWords(result.device.kind)}. {result.device.reason}
          </p>
          {study !== null && (
            <>
              <StudyNumbers study={study} />
              <h3 className="text-sm font-medium text-muted">One trial alone</h3>
            </>
          )}
          <CalibrationNumbers result={result} />
          <Warnings sentences={[...(study?.warnings ?? []), ...result.warnings]} />
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

function CalibrationNumbers({ result }: { result: Calibration }) {
  const { memory, disk, etaSeconds, evaluations } = result
  const memoryShare = memory.expectedBytes / Math.max(1, memory.availableBytes)
  const mappedBytes = memory.totalBytes - memory.anonymousBytes
  const diskShare = disk.neededBytes / Math.max(1, disk.freeBytes)
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded border border-line bg-line xl:grid-cols-4">
      <Tile name="Memory" value={`${formatBytes(memory.expectedBytes)} private`}>
        <Progress label="Share of the free memory" value={memoryShare} />
        {formatShare(memoryShare)} of {formatBytes(memory.availableBytes)} free
        {mappedBytes > 1e6 && (
          <span title="Task managers count them with the process; the system may drop them and read them again from the file.">
            + {formatBytes(mappedBytes)} mapped weights
          </span>
        )}
      </Tile>
      <Tile name="Time per step" value={formatDuration(1000 * result.secondsPerStep)}>
        <StepTime seconds={result.seconds} />
      </Tile>
      <Tile
        name="Whole run"
        value={etaWords({ lowMs: 1000 * etaSeconds.low, highMs: 1000 * etaSeconds.high })}
      >
        {plural(result.steps, 'step')}
        {evaluations > 0 && (
          <>
            {' '}
            and {plural(evaluations, 'evaluation')} of {formatDuration(1000 * result.secondsPerEvaluation)}
          </>
        )}
        {result.checkpoints * result.secondsPerCheckpoint > 0.01 * etaSeconds.expected && (
          <span>
            {plural(result.checkpoints, 'checkpoint')} of {formatDuration(1000 * result.secondsPerCheckpoint)}
          </span>
        )}
      </Tile>
      <Tile name="Disk" value={formatBytes(disk.neededBytes)}>
        <Progress label="Share of the free disk" value={diskShare} />
        {formatBytes(disk.freeBytes)} free · a checkpoint is {formatBytes(result.checkpointBytes)}
      </Tile>
    </dl>
  )
}

/** Estimated resources of the whole study, with the calculation of how many trials train together. */
function StudyNumbers({ study }: { study: StudyEstimate }) {
  const { trials, steps, totalSteps, seconds, memory, disk, parallel, sharing } = study
  const memoryShare = memory.neededBytes / Math.max(1, memory.availableBytes)
  const diskShare = disk.neededBytes / Math.max(1, disk.freeBytes)
  return (
    <div>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded border border-line bg-line xl:grid-cols-4">
        <Tile name="Whole study" value={etaWords({ lowMs: 1000 * seconds.low, highMs: 1000 * seconds.high })}>
          about {formatDuration(1000 * seconds.expected)}
        </Tile>
        <Tile name="Steps" value={formatCount(totalSteps)}>
          {plural(trials, 'trial')} of {plural(steps, 'step')}
          {totalSteps < trials * steps && (
            <span>
              {formatShare(totalSteps / (trials * steps))} of what they would take without early stopping
            </span>
          )}
        </Tile>
        <Tile name="Memory" value={formatBytes(memory.neededBytes)}>
          <Progress label="Share of the free memory" value={memoryShare} />
          {formatShare(memoryShare)} of {formatBytes(memory.availableBytes)} free · {parallel} at a time
        </Tile>
        <Tile name="Disk" value={formatBytes(disk.neededBytes)}>
          <Progress label="Share of the free disk" value={diskShare} />
          {formatBytes(disk.freeBytes)} free
        </Tile>
      </dl>
      <p className="mt-2 text-sm text-muted text-pretty">
        <Sentence text={sharing} />
      </p>
    </div>
  )
}

const Tile = ({ name, value, children }: { name: string; value: string; children: ReactNode }) => (
  <div className="flex min-w-0 flex-col gap-1 bg-bg p-3">
    <dt className="text-sm text-muted">{name}</dt>
    <dd className="flex flex-col gap-1 text-xs text-faint tabular-nums">
      <span className="text-xl font-semibold text-text">{value}</span>
      {children}
    </dd>
  </div>
)

const parts = [
  ['generating', 'generating', 'var(--run-1)'],
  ['scoring', 'scoring', 'var(--run-2)'],
  ['learning', 'learning', 'var(--run-3)'],
] as const

function StepTime({ seconds }: { seconds: Calibration['seconds'] }) {
  const total = parts.reduce((sum, [part]) => sum + seconds[part], 0)
  if (total === 0) return null
  const told = parts.filter(([part]) => seconds[part] / total > 0.005)
  const shares = formatShares(told.map(([part]) => seconds[part]))
  return (
    <>
      <span aria-hidden className="flex h-1 overflow-hidden rounded-full">
        {parts.map(([part, , color]) => (
          <span
            key={part}
            style={{ width: `${String((100 * seconds[part]) / total)}%`, background: color }}
          />
        ))}
      </span>
      <span>{told.map(([, words], at) => `${shares[at] ?? ''} ${words}`).join(' · ')}</span>
    </>
  )
}

type Sample = Calibration['samples'][number]

interface Group {
  readonly stage: number
  readonly prompt: string
  readonly samples: readonly Sample[]
}

function groupsOf(samples: readonly Sample[]): Group[] {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const key = `${String(sample.stage)} ${sample.prompt}`
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  return [...groups.values()].map((own) => ({
    stage: own[0]?.stage ?? 0,
    prompt: own[0]?.prompt ?? '',
    samples: own,
  }))
}

function CalibrationSamples({ result }: { result: Calibration }) {
  const groups = groupsOf(result.samples)
  const hasStages = groups.some(({ stage }) => stage > 0)
  return (
    <div className="grid gap-4">
      {groups.map(({ stage, prompt, samples }) => (
        <figure key={`${String(stage)} ${prompt}`} className="rounded border border-line">
          <figcaption className="flex flex-wrap items-baseline gap-x-3 border-b border-line bg-panel px-3 py-2">
            <span className="font-medium">
              {hasStages && `Stage ${String(stage + 1)}: `}
              {samples.every(({ reward }) => reward === null) ? 'What it learns from' : 'First completions'}
            </span>
            <span className="text-sm text-faint">
              row {formatCount((samples[0]?.row ?? 0) + 1)} of the data ·{' '}
              {plural(result.longest.promptTokens, 'token')} of prompt, the longest row
            </span>
            <pre
              dir="auto"
              className="max-h-32 w-full overflow-auto pt-1 font-mono text-sm whitespace-pre-wrap text-muted"
              tabIndex={0}
            >
              {prompt}
            </pre>
          </figcaption>
          <ul className="divide-y divide-line">
            {samples.map((sample, i) => (
              <SampleRow key={String(i)} sample={sample} />
            ))}
          </ul>
        </figure>
      ))}
    </div>
  )
}

/** Returns the parts of a reward; a single part is the reward itself. */
const partsOf = (parts: Sample['parts']) => {
  const entries = Object.entries(parts)
  return entries.length > 1 ? entries : []
}

function SampleRow({ sample }: { sample: Sample }) {
  const { completion, reward, preference, parts, tokens, stopReason, failures } = sample
  return (
    <li className="grid grid-cols-[64px_minmax(0,1fr)_max-content] items-start gap-3 px-3 py-2">
      <span className="font-mono text-sm font-medium tabular-nums">
        {reward === null ? (
          <span className="font-sans text-muted">{preference}</span>
        ) : (
          <>
            <span className="sr-only">Reward </span>
            {formatNumber(reward)}
          </>
        )}
      </span>
      <span className="min-w-0">
        <span
          dir="auto"
          className="block max-h-24 overflow-auto font-mono text-sm break-words whitespace-pre-wrap"
        >
          {completion === '' ? <span className="text-faint">(empty)</span> : completion}
        </span>
        {failures.map((sentence) => (
          <span key={sentence} className="block text-sm text-bad">
            {sentence}
          </span>
        ))}
      </span>
      <span className="flex max-w-80 flex-wrap items-center justify-end gap-x-3 text-xs text-faint tabular-nums">
        <span>
          {partsOf(parts)
            .map(([name, value]) => `${name} ${formatNumber(value)}`)
            .join(' · ')}
        </span>
        <span className="flex gap-2">
          {plural(tokens, 'token')}
          {stopReason === 'length' && <Badge tone="caution">truncated</Badge>}
        </span>
      </span>
    </li>
  )
}

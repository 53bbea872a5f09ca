import { Play, TriangleAlert } from 'lucide-react'
import { useMemo, useState } from 'react'
import { whyFixed } from '#shared/config/changes.ts'
import { labelOf } from '#shared/config/fields.ts'
import { isEqual, type JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { plural } from '#renderer/client/format.ts'
import { settingRows, useRunSettings, valueText } from '#renderer/client/runSettings.ts'
import { useWorkerOf, type RunEntry } from '#renderer/client/runs.ts'
import { useSettled } from '#renderer/client/settled.ts'
import { toast } from '#renderer/client/toasts.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { problemWords } from '#renderer/features/newRun/problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { effectiveOf, SettingsEditor } from './SettingChanges.tsx'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig
  readonly onClose: () => void
}
type Possible = Extract<Answer<'runs.checkChanges'>, { readonly made: unknown }>

/** Changes settings with which a paused or stopped run continues; fixed ones say why. */
export function ChangeDialog({ run, config, onClose }: Props) {
  const known = useRunSettings()
  const rows = useMemo(
    () => settingRows(config, known?.algorithms ?? [], { opensLists: false }),
    [config, known],
  )
  const [changes, setChanges] = useState<JsonObject>({})
  const effective = effectiveOf(changes, config)
  const asked = useSettled(effective, 250)
  const { data: verdict, isPrevious } = useAnswer(
    'runs.checkChanges',
    { runId: run.id, changes: asked },
    { keep: true, staleMs: 5000 },
  )
  const goOn = useGoOn(run, onClose)
  const count = Object.keys(effective).length
  const problems = verdict !== undefined && 'problems' in verdict ? verdict.problems : []
  const possible = verdict !== undefined && 'made' in verdict ? verdict : null
  const isJudged = !isPrevious && possible !== null && isEqual(asked, effective)
  const general = problems.filter(({ path }) => !(path in changes))
  return (
    <Dialog
      onClose={onClose}
      width={640}
      title="Change settings"
      description={`“${runTitle(run)}” goes on with them from its next step. Its steps so far stay as they are.`}
      action={{
        label: count === 0 ? 'Resume with changes' : `Resume with ${plural(count, 'change')}`,
        icon: Play,
        isDisabled: goOn.isRunning || count === 0 || !isJudged,
        run: () => goOn.run(effective),
      }}
    >
      <div className="flex flex-col gap-3">
        {general.map((problem) => (
          <ErrorNote key={problem.message} error={{ message: problemWords(problem) }} />
        ))}
        <SettingsEditor
          {...{ rows, changes, problems, whyFixed }}
          error={goOn.error}
          empty="Choose settings to change."
          noteOf={(value) => `So far: ${value}`}
          onChange={setChanges}
        >
          {possible !== null && <Effect possible={possible} run={run} />}
        </SettingsEditor>
      </div>
    </Dialog>
  )
}

interface GoOn {
  readonly isRunning: boolean
  readonly error: Error | null
  readonly run: (changes: JsonObject) => void
}

/** Resumes a paused process, or starts a new one for a stopped run. */
function useGoOn({ id: runId }: RunEntry, onClose: () => void): GoOn {
  const isPaused = useWorkerOf(runId)?.activity === 'paused'
  const onDone = () => {
    onClose()
    toast({ title: 'Training on with changed settings' })
  }
  const unpause = useCommand('runs.unpause', { quiet: true, onDone })
  const resume = useCommand('runs.resume', { quiet: true, onDone })
  const command = isPaused ? unpause : resume
  return {
    isRunning: unpause.isRunning || resume.isRunning,
    error: command.error,
    run: (changes) => void command.run({ runId, changes }),
  }
}

/** Describes the effect of the changes, and from which step on. */
function Effect({ possible: { step, made, steps, warnings }, run }: { possible: Possible; run: RunEntry }) {
  if (made.length === 0) return null
  return (
    <section aria-label="What changes" className="flex flex-col gap-1 rounded bg-panel px-3 py-2">
      <p className="font-medium">From step {step + 1} on</p>
      <ul className="flex flex-col">
        {made.map(({ key, from, to }) => (
          <li key={key} className="flex flex-wrap gap-x-2">
            <span>{labelOf(key)}</span>
            <span className="font-mono">
              {valueText(from)} → {valueText(to)}
            </span>
          </li>
        ))}
      </ul>
      {steps !== run.steps && run.steps !== null && (
        <p className="text-sm text-muted">
          {plural(steps - step, 'step')} left instead of {run.steps - step}; the learning-rate schedule
          follows.
        </p>
      )}
      {warnings.map((warning) => (
        <p key={`${warning.path} ${warning.message}`} className="flex items-baseline gap-2 text-pretty">
          <TriangleAlert size={13} aria-hidden className="shrink-0 self-center text-caution" />
          <span>
            {labelOf(warning.path)}: <Sentence text={warning.message} />
          </span>
        </p>
      ))}
    </section>
  )
}

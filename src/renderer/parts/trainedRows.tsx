/** Runs as pickers list them: a study is one row, which stands for its best trial. */
import { formatReward, plural } from '#renderer/client/format.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Select } from '#renderer/kit/choices.tsx'
import type { PickerItem } from '#renderer/kit/Picker.tsx'

export interface TrainedRow {
  /** Run that is chosen by default: of a study its best trial. */
  readonly run: RunEntry
  readonly title: string
  /** All trials, best first; one for a run of its own. */
  readonly runs: readonly RunEntry[]
}

/** `studies`: titles by id; trials of a study that was deleted are runs of their own. */
export function trainedRows(
  runs: readonly RunEntry[],
  studies: ReadonlyMap<string, string>,
): readonly TrainedRow[] {
  const groups = Map.groupBy(runs, ({ id, studyId }) =>
    studyId !== null && studies.has(studyId) ? studyId : id,
  )
  return [...groups].flatMap(([id, members]) => {
    const best = members.toSorted((a, b) => (b.rewardAfter ?? -Infinity) - (a.rewardAfter ?? -Infinity))
    const [run] = best
    return run === undefined ? [] : [{ run, title: studies.get(id) ?? runTitle(run), runs: best }]
  })
}

export const rowOf = (rows: readonly TrainedRow[], runId: string | null): TrainedRow | undefined =>
  rows.find(({ runs }) => runs.some(({ id }) => id === runId))

/** `facts`: what else is said of a run of its own. */
export function trainedItem({ run, title, runs }: TrainedRow, facts: readonly string[] = []): PickerItem {
  const reward = run.rewardAfter === null ? '' : `eval reward ${formatReward(run.rewardAfter)}`
  const words =
    runs.length > 1
      ? [plural(runs.length, 'trial'), ...facts, reward && `best ${reward}`]
      : [run.algorithmTitle, ...facts, `step ${String(run.step)}`, reward]
  return { key: run.id, title, detail: words.filter(Boolean).join(' · ') }
}

interface TrialSelectProps {
  readonly row: TrainedRow | undefined
  readonly runId: string | null
  readonly isDisabled?: boolean | undefined
  readonly onChoose: (run: RunEntry) => void
}

/** Chooses the trial of a study; renders nothing for a run of its own. */
export function TrialSelect({ row, runId, isDisabled, onChoose }: TrialSelectProps) {
  if (row === undefined || row.runs.length < 2) return null
  return (
    <Select
      aria-label="Trial"
      disabled={isDisabled}
      value={runId ?? ''}
      options={row.runs.map((run) => ({ value: run.id, label: trialWords(run) }))}
      onChange={(id) => row.runs.filter((run) => run.id === id).forEach(onChoose)}
      className="max-w-44 shrink-0"
    />
  )
}

const trialWords = ({ trial, rewardAfter }: RunEntry): string =>
  `Trial ${String((trial ?? 0) + 1)}${rewardAfter === null ? '' : ` · ${formatReward(rewardAfter)}`}`

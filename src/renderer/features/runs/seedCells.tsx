/** Cells of the common row of several seeds, where each number is a mean with its 95 % interval, or of a study's trials. */
import { ChevronDown, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { IconButton } from '#renderer/kit/Button.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { formatAgo, formatCount, formatReach, formatReward, plural } from '#renderer/client/format.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import type { FamilyRow } from './families.ts'

type Row = FamilyRow<RunEntry>
type Seeds = NonNullable<Row['seeds']>

/** State and actions of seed rows, available to all rows. */
export interface SeedRowState {
  readonly selected: ReadonlySet<string>
  readonly now: number
  readonly onSelect: (runId: string, isRange: boolean) => void
  /** Shows or hides the rows of its runs. */
  readonly onToggleSeeds: (runIds: readonly string[]) => void
}

/** Undefined: the cell of a single run, valid for all seeds if it shows settings. */
export function seedCell(columnId: string, { seeds }: Row, state: SeedRowState): ReactNode | undefined {
  if (seeds === undefined) return undefined
  const cell = cells[columnId]
  if (cell !== undefined) return cell(seeds, state)
  return sharedColumns.includes(columnId) ? undefined : <span />
}

const sharedColumns = ['algorithm', 'model', 'data']

/** Undefined: sorted like its first run. */
export function seedSorting(columnId: string, { seeds }: Row): string | number | undefined {
  if (columnId === 'name') return seeds?.name
  if (columnId === 'progress') return seeds?.step
  if (columnId === 'reward') return (seeds?.rewardAfter ?? seeds?.reward)?.value
  return undefined
}

const cells: Readonly<Partial<Record<string, (seeds: Seeds, state: SeedRowState) => ReactNode>>> = {
  select: (seeds, { selected, onSelect }) => <SelectSeeds {...{ seeds, selected, onSelect }} />,
  name: (seeds, { onToggleSeeds }) => <SeedName seeds={seeds} onToggle={() => onToggleSeeds(seeds.runIds)} />,
  status: ({ runs }) => <SeedStatus runs={runs} />,
  progress: ({ step, runs: [first] }) => (
    <span>
      {formatCount(step)}
      <span className="text-faint"> / {formatCount(first?.steps ?? null)}</span>
    </span>
  ),
  reward: (seeds) => <MeanReward seeds={seeds} />,
  started: ({ runs }, { now }) => (
    <span className="text-muted">{formatAgo(Math.min(...runs.map(({ createdAt }) => createdAt)), now)}</span>
  ),
  seed: ({ seeds }) => <span title={seeds.join(', ')}>{seeds.join(', ')}</span>,
}

interface SelectProps extends Pick<SeedRowState, 'selected' | 'onSelect'> {
  readonly seeds: Seeds
}

/** Selects all seeds, or none if all were selected. */
function SelectSeeds({ seeds: { name, runIds, studyId }, selected, onSelect }: SelectProps) {
  const missing = runIds.filter((id) => !selected.has(id))
  return (
    <span
      className="inline-flex py-1"
      onClickCapture={(event) => {
        event.preventDefault()
        event.stopPropagation()
        for (const id of missing.length > 0 ? missing : runIds) onSelect(id, event.shiftKey)
      }}
    >
      <Checkbox
        aria-label={`Select all ${studyId === null ? 'seeds' : 'trials'} of ${name}`}
        checked={missing.length === 0}
        onChange={() => undefined}
      />
    </span>
  )
}

const SeedName = ({
  seeds: { name, seeds, runIds, studyId, isOpen },
  onToggle,
}: {
  seeds: Seeds
  onToggle: () => void
}) => (
  <span className="flex min-w-0 items-center gap-1.5">
    <span className="-ml-1 inline-flex" onClick={(event) => event.stopPropagation()}>
      <IconButton
        small
        label={`Runs of ${name}`}
        aria-expanded={isOpen}
        icon={isOpen ? ChevronDown : ChevronRight}
        onClick={onToggle}
      />
    </span>
    <span className="min-w-0 font-medium">
      <CutName name={name} />
    </span>
    <span className="shrink-0 text-faint">
      {studyId === null ? plural(seeds.length, 'seed') : plural(runIds.length, 'trial')}
    </span>
  </span>
)

/** Common status, or the number of finished runs. */
function SeedStatus({ runs }: { runs: readonly RunEntry[] }) {
  const [first] = runs
  if (first && runs.every(({ status }) => status === first.status))
    return (
      <StatusBadge status={first.status} finding={runs.find(({ finding }) => finding)?.finding ?? null} />
    )
  const finished = runs.filter(({ status }) => status === 'finished').length
  return (
    <span title={`${String(finished)} of ${String(runs.length)} finished`}>
      {finished}/{runs.length} finished
    </span>
  )
}

/** Eval reward; the last training reward without evaluations. */
function MeanReward({ seeds: { reward, rewardAfter, count, step, studyId, runs } }: { seeds: Seeds }) {
  if (studyId !== null) {
    const all = runs.flatMap((run) => run.rewardAfter ?? [])
    return (
      <span title="Best eval reward of its trials">
        {all.length > 0 && `best ${formatReward(Math.max(...all))}`}
      </span>
    )
  }
  const mean = rewardAfter ?? reward
  return (
    <span title={`Mean with 95 % interval over ${plural(count, 'seed')} at step ${String(step)}`}>
      {formatReward(mean?.value)}
      <span className="text-faint">{formatReach(mean)}</span>
    </span>
  )
}

import { CornerDownRight, Flag, GitFork, Pin, Plus } from 'lucide-react'
import { useState, type KeyboardEvent } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatNumber, formatReward, noNumber, lastPart } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { CutName } from '#renderer/kit/CutName.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { SparkLine } from '#renderer/charts/Spark.tsx'
import { link } from '#renderer/client/route.ts'
import { EvalReward } from '#renderer/parts/EvalReward.tsx'
import { StudyLink } from '#renderer/parts/StudyLink.tsx'
import type { FamilyRow } from './families.ts'

interface NameProps {
  readonly row: FamilyRow<RunEntry>
  readonly style: { readonly color: string; readonly dash: string | undefined }
  readonly isPinned: boolean
  readonly isBaseline: boolean
  readonly isEditing: boolean
  readonly onEdited: () => void
}

const Forks = ({ count }: { readonly count: number }) => (
  <Tooltip text={`Forked ${count === 1 ? 'once' : `${String(count)} times`}`}>
    <span className="inline-flex shrink-0 items-center gap-0.5 text-xs text-faint">
      <GitFork size={11} aria-hidden />
      {count}
    </span>
  </Tooltip>
)

/** Name with colour, place in its family, and marks. */
export function NameCell({
  row: { run, depth, forks, under },
  style,
  isPinned,
  isBaseline,
  isEditing,
  onEdited,
}: NameProps) {
  const rename = useCommand('runs.rename')
  if (isEditing) {
    return (
      <EditInPlace
        label={`Name of ${runTitle(run)}`}
        value={run.name ?? ''}
        onEnd={(name) => {
          onEdited()
          if (name !== null) void rename.run({ runId: run.id, name: name.trim() === '' ? null : name.trim() })
        }}
      />
    )
  }
  return (
    <span
      data-run={run.id}
      className="flex min-w-0 items-center gap-1.5"
      style={{ paddingLeft: (under ? 1 : depth) * 16 }}
    >
      {depth > 0 && <CornerDownRight size={12} aria-label="Fork" className="shrink-0 text-faint" />}
      <LineMark color={style.color} dash={style.dash} isThick={isBaseline} />
      <a
        href={link(`/runs/${run.id}`)}
        className="min-w-0 font-medium text-text hover:underline"
        tabIndex={-1}
        onClick={(event) => event.stopPropagation()}
      >
        <CutName name={runTitle(run)} />
      </a>
      <StudyLink run={run} isSmall />
      {isBaseline && <Flag size={12} aria-label="Baseline" className="shrink-0 text-accent-ink" />}
      {isPinned && <Pin size={12} aria-label="Pinned" className="shrink-0 text-accent-ink" />}
      {depth === 0 && run.parentRunId !== null && (
        <Tooltip text={`Forked at step ${String(run.parentCheckpointStep ?? 0)}`}>
          <GitFork size={12} aria-label="Fork" className="shrink-0 rotate-180 text-faint" />
        </Tooltip>
      )}
      {forks > 0 && <Forks count={forks} />}
    </span>
  )
}

interface EditProps {
  readonly label: string
  readonly value: string
  /** Receives null if editing was cancelled. */
  readonly onEnd: (value: string | null) => void
}

/** Text field in which Enter or leaving saves, and Escape cancels. */
function EditInPlace({ label, value, onEnd }: EditProps) {
  const [draft, setDraft] = useState(value)
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Enter') onEnd(draft)
    if (event.key === 'Escape') onEnd(null)
  }
  return (
    <TextInput
      small
      autoFocus
      aria-label={label}
      value={draft}
      onChange={setDraft}
      onKeyDown={onKeyDown}
      onClick={(event) => event.stopPropagation()}
      onFocus={(event) => event.target.select()}
      onBlur={() => onEnd(draft === value ? null : draft)}
    />
  )
}

interface EditedCell {
  readonly run: RunEntry
  readonly isEditing: boolean
  readonly onEdit: (is: boolean) => void
}

/** Tags, edited as a list separated by commas. */
export function TagsCell({ run, isEditing, onEdit }: EditedCell) {
  const setTags = useCommand('runs.setTags')
  const set = (tags: readonly string[]) => void setTags.run({ runId: run.id, tags: [...new Set(tags)] })
  if (isEditing) {
    return (
      <EditInPlace
        label={`Tags of ${runTitle(run)}, separated by commas`}
        value={run.tags.join(', ')}
        onEnd={(text) => {
          onEdit(false)
          if (text !== null) set(tagsOf(text))
        }}
      />
    )
  }
  const shown = fitting(run.tags)
  return (
    <button
      type="button"
      title={run.tags.join(', ')}
      aria-label={run.tags.length === 0 ? `Add tags to ${runTitle(run)}` : undefined}
      className="group flex h-6 w-full min-w-0 items-center gap-1 rounded-sm hover:bg-raised"
      onClick={(event) => {
        event.stopPropagation()
        onEdit(true)
      }}
    >
      <span className="sr-only">Edit tags of {runTitle(run)}:</span>
      {run.tags.slice(0, shown).map((tag) => (
        <span
          key={tag}
          className="h-5 min-w-0 truncate rounded-sm bg-raised px-1.5 text-xs leading-5 text-muted"
        >
          {tag}
        </span>
      ))}
      {run.tags.length > shown && (
        <span className="shrink-0 text-xs text-faint">+{run.tags.length - shown}</span>
      )}
      {run.tags.length === 0 && (
        <span className="inline-flex items-center gap-1 px-1.5 text-xs text-faint opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100">
          <Plus size={11} aria-hidden /> Add
        </span>
      )}
    </button>
  )
}

/** Returns how many tags fit, at least one. */
function fitting(tags: readonly string[]): number {
  let letters = 0
  const count = tags.findIndex((tag) => (letters += tag.length + 3) > lettersOfTags)
  return count < 0 ? tags.length : Math.max(1, count)
}

const lettersOfTags = 14

export const tagsOf = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim().slice(0, 50))
      .filter((tag) => tag !== ''),
  ),
]

export function NotesCell({ run, isEditing, onEdit }: EditedCell) {
  const setNotes = useCommand('runs.setNotes')
  if (isEditing) {
    return (
      <EditInPlace
        label={`Notes on ${runTitle(run)}`}
        value={run.notes}
        onEnd={(notes) => {
          onEdit(false)
          if (notes !== null) void setNotes.run({ runId: run.id, notes })
        }}
      />
    )
  }
  return (
    <button
      type="button"
      title={run.notes}
      aria-label={run.notes === '' ? `Add notes to ${runTitle(run)}` : undefined}
      className="block h-6 w-full truncate rounded-sm px-1 text-left text-muted hover:bg-raised"
      onClick={(event) => {
        event.stopPropagation()
        onEdit(true)
      }}
    >
      {run.notes === '' ? <span className="text-faint">–</span> : run.notes}
    </button>
  )
}

const sparkPoints = 40

/** Reward curve, refetched as the run grows. */
function useRewardCurve(run: RunEntry) {
  const { data } = useAnswer(
    'metrics.series',
    { runIds: [run.id], metric: 'reward', toStep: Math.max(1, run.step), maxPoints: sparkPoints },
    { enabled: run.step > 0, keep: true },
  )
  return data?.runs[0]?.points
}

export function CurveCell({ run, color }: { run: RunEntry; color: string }) {
  const points = useRewardCurve(run)
  if (!points || points.length === 0) return <span className="text-faint">{noNumber}</span>
  const [first, last] = [points[0], points.at(-1)]
  const words = `Reward ${formatNumber(first?.mean)} to ${formatNumber(last?.last)}`
  return <SparkLine values={points.map(({ mean }) => mean)} color={color} label={words} width={80} />
}

export function BestCell({ run }: { run: RunEntry }) {
  const points = useRewardCurve(run)
  const best = points && points.length > 0 ? Math.max(...points.map(({ max }) => max)) : null
  return <>{formatReward(best)}</>
}

/** Eval reward before and after; the last training reward without evaluations. */
export function RewardCell({ run }: { run: RunEntry }) {
  if (run.rewardAfter === null && run.rewardBefore === null) return <>{formatReward(run.reward)}</>
  return <EvalReward run={run} />
}

/** Name of the data set, or the file. */
export function DataCell({ run }: { run: RunEntry }) {
  const { data: record } = useAnswer('runs.get', { runId: run.id })
  const { data: dataSets } = useAnswer('datasets.list', undefined)
  const train = record === undefined ? null : trainOf(record.config)
  const owner = dataSets?.find(({ versions }) => versions.some(({ directory }) => directory === train))
  return (
    <span title={train ?? undefined} className="block truncate">
      {owner?.name ?? (train === null ? noNumber : lastPart(train))}
    </span>
  )
}

function trainOf(config: string): string | null {
  const parsed: unknown = JSON.parse(config)
  const data: unknown = typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : null
  const train: unknown = typeof data === 'object' && data !== null && 'train' in data ? data.train : null
  if (typeof train === 'string') return train
  return typeof train === 'object' && train !== null ? 'episodes' : null
}

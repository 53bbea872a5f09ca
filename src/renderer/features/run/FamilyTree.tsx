import { GitFork, SlidersHorizontal } from 'lucide-react'
import { useAnswer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import { useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import { formatReward } from '#renderer/client/format.ts'
import { madeWords } from '#renderer/client/runSettings.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Badge, StatusBadge } from '#renderer/kit/Badge.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Panel } from '#renderer/kit/Page.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'

/** Ancestors and forks of a run; renders nothing if it has none. */
export function FamilyTree({ run }: { run: RunEntry }) {
  const { data: family = [] } = useAnswer('runs.family', { runId: run.id })
  if (family.length < 2) return null
  const compared = family.map(({ id }) => id).join(',')
  return (
    <Panel
      title="Family"
      isFlush
      actions={
        <a
          className="px-1 text-sm text-accent-ink hover:underline"
          href={link('/runs/compare', { runs: compared })}
        >
          Compare all
        </a>
      }
    >
      <ul className="py-1">
        {treeOf(family).map(({ member, depth }) => (
          <FamilyRow key={member.id} {...{ member, depth }} isThis={member.id === run.id} />
        ))}
      </ul>
    </Panel>
  )
}

interface RowProps extends Placed<RunEntry> {
  readonly isThis: boolean
}

function FamilyRow({ member, depth, isThis }: RowProps) {
  const { color, dash } = useRunStyles()(member.id)
  return (
    <li
      aria-current={isThis ? 'page' : undefined}
      className={classes('flex min-h-8 flex-wrap items-center gap-x-2 py-1 pr-3', isThis && 'bg-accent-soft')}
      style={{ paddingLeft: 12 + depth * 24 }}
    >
      <span className="flex max-w-full items-center gap-2">
        {depth > 0 && <GitFork size={13} aria-hidden className="shrink-0 text-faint" />}
        <LineMark color={color} dash={dash} />
        <a className="min-w-0 font-medium hover:underline" href={link(`/runs/${member.id}/checkpoints`)}>
          <CutName name={runTitle(member)} />
        </a>
      </span>
      <StatusBadge status={member.status} />
      {member.parentCheckpointStep !== null && (
        <span className="text-sm whitespace-nowrap text-muted">from step {member.parentCheckpointStep}</span>
      )}
      {member.settingChanges.length > 0 && (
        <Tooltip text={madeWords(member.settingChanges)}>
          <Badge icon={SlidersHorizontal}>{`Settings changed at step ${changedAt(member)}`}</Badge>
        </Tooltip>
      )}
      <span className="ml-auto font-mono text-sm whitespace-nowrap text-muted tabular-nums">
        step {member.step}
        {member.rewardAfter !== null && ` · eval reward ${formatReward(member.rewardAfter)}`}
      </span>
    </li>
  )
}

const changedAt = ({ settingChanges }: RunEntry): string =>
  [...new Set(settingChanges.map(({ step }) => step))].join(', ')

/** Related run in an indented list. */
type Member = Pick<RunEntry, 'id' | 'parentRunId' | 'createdAt'>

interface Placed<Run> {
  readonly member: Run
  /** 0 for runs whose parent is not in the list. */
  readonly depth: number
}

/** Orders every run below its parent, oldest first. */
export function treeOf<Run extends Member>(family: readonly Run[]): readonly Placed<Run>[] {
  const ids = new Set(family.map(({ id }) => id))
  const inOrder = family.toSorted((a, b) => a.createdAt - b.createdAt)
  const below = (parent: Run, depth: number): Placed<Run>[] => [
    { member: parent, depth },
    ...inOrder
      .filter(({ parentRunId }) => parentRunId === parent.id)
      .flatMap((child) => below(child, depth + 1)),
  ]
  return inOrder
    .filter(({ parentRunId }) => parentRunId === null || !ids.has(parentRunId))
    .flatMap((root) => below(root, 0))
}

import { History } from 'lucide-react'
import { useState } from 'react'
import { formatReward } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { EmptyState, Loading } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { versionNumber } from './library.ts'
import { RescorePane } from './RescorePane.tsx'
import type { RewardKind, RewardVersion } from './types.ts'

interface UsedByTabProps {
  readonly rewardId: string
  readonly kind: RewardKind
  readonly versions: readonly RewardVersion[]
  /** undefined: not known yet. */
  readonly uses: readonly { readonly runId: string; readonly version: string }[] | undefined
}

interface Line {
  readonly run: RunEntry
  readonly version: string
}

/** Runs that were trained with it, and what another version would have paid them. */
export function UsedByTab({ rewardId, kind, versions, uses }: UsedByTabProps) {
  const { runs } = useRuns()
  const [rescored, setRescored] = useState<Line | null>(null)
  if (uses === undefined) return <Loading label="Looking through the runs" />
  const byId = new Map(runs.map((run) => [run.id, run]))
  const lines = uses.flatMap(({ runId, version }): Line[] => {
    const run = byId.get(runId)
    return run === undefined ? [] : [{ run, version }]
  })
  if (lines.length === 0) {
    return (
      <EmptyState
        icon={<History size={24} aria-hidden />}
        title="No run has used it yet."
        action={
          versions.length > 0 && (
            <a className="text-accent-ink underline" href={link('/new-run', { reward: rewardId })}>
              Train with it
            </a>
          )
        }
      >
        Runs that used this reward appear here, with the version they used.
      </EmptyState>
    )
  }
  return (
    <div className={`${besideClasses} h-full`}>
      <Table
        label="Runs"
        rows={lines}
        columns={columnsFor(versions, kind === 'reward' ? setRescored : null)}
        rowKey={({ run, version }) => `${run.id} ${version}`}
        isSelected={({ run, version }) => run.id === rescored?.run.id && version === rescored.version}
      />
      {rescored !== null && (
        <RescorePane
          key={`${rescored.run.id} ${rescored.version}`}
          rewardId={rewardId}
          run={rescored.run}
          used={rescored.version}
          versions={versions}
          onClose={() => setRescored(null)}
        />
      )}
    </div>
  )
}

function columnsFor(
  versions: readonly RewardVersion[],
  onRescore: ((line: Line) => void) | null,
): Column<Line>[] {
  const base: Column<Line>[] = [
    {
      id: 'run',
      title: 'Run',
      width: 'minmax(160px, 2fr)',
      cell: ({ run }) => (
        <a className="text-accent-ink hover:underline" href={link(`/runs/${run.id}/overview`)}>
          {runTitle(run)} <span className="text-xs text-faint">{run.id.slice(-4)}</span>
        </a>
      ),
      sortBy: ({ run }) => runTitle(run),
    },
    { id: 'status', title: 'Status', width: '112px', cell: ({ run }) => <StatusBadge status={run.status} /> },
    {
      id: 'version',
      title: 'Version',
      width: '80px',
      isNumber: true,
      cell: ({ version }) => versionNumber(versions, version) ?? '',
      sortBy: ({ version }) => versionNumber(versions, version),
    },
    {
      id: 'reward',
      title: 'Reward',
      width: '80px',
      isNumber: true,
      cell: ({ run }) => formatReward(run.reward),
      sortBy: ({ run }) => run.reward,
    },
  ]
  if (onRescore === null) return base
  const action: Column<Line> = {
    id: 'rescore',
    title: '',
    label: 'Actions',
    width: '104px',
    cell: (line) => (
      <Button
        small
        aria-label={`Dry-run on samples of ${runTitle(line.run)}`}
        onClick={() => onRescore(line)}
      >
        Dry-run
      </Button>
    ),
  }
  return [...base, action]
}

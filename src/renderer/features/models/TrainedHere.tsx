import { useMemo } from 'react'
import { link, navigate } from '#renderer/client/route.ts'
import { formatCount, formatFixed } from '#renderer/client/format.ts'
import { useNow } from '#renderer/client/live.ts'
import { bestOf, trainedRuns, type Checkpoint } from '#renderer/client/modelChoice.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { useCheckpointsOf } from '#renderer/parts/useModels.ts'
import { numberColumn, mutedColumn, agoColumn, plainColumn, unnamedColumn } from '#renderer/kit/columns.tsx'

interface Trained {
  readonly run: RunEntry
  readonly best: Checkpoint
  readonly last: Checkpoint
}

const rowHeight = 32
const maxRows = 12

/** Adapters that runs trained on a base model, newest first. */
export function TrainedHere({ directory }: { directory: string }) {
  const { runs } = useRuns()
  const own = trainedRuns(runs).filter(({ model }) => model === directory)
  const checkpoints = useCheckpointsOf(own.map(({ id }) => id))
  const now = useNow(60_000)
  const columns = useMemo(() => columnsAt(now), [now])
  const rows = own.flatMap((run): Trained[] => {
    const found = checkpoints.get(run.id) ?? []
    const [best, last] = [bestOf(found), found.findLast(({ problem }) => problem === null)]
    return best === undefined || last === undefined ? [] : [{ run, best, last }]
  })
  return (
    <Panel title="Trained here" isFlush>
      {rows.length === 0 ? (
        <p className="p-3 text-muted">No run on this model has a checkpoint yet.</p>
      ) : (
        <div className="flex flex-col" style={{ height: 33 + Math.min(rows.length, maxRows) * rowHeight }}>
          <Table
            {...{ rows, columns, rowHeight }}
            label="Adapters trained on this model"
            rowKey={({ run }) => run.id}
          />
        </div>
      )}
    </Panel>
  )
}

const columnsAt = (now: number): readonly Column<Trained>[] => [
  plainColumn(
    ['run', 'Run', 'minmax(160px, 1fr)'],
    ({ run }) => (
      <a href={link(`/runs/${run.id}/checkpoints`)} className="font-medium hover:underline">
        {runTitle(run)}
      </a>
    ),
    ({ run }) => runTitle(run).toLowerCase(),
  ),
  plainColumn(
    ['status', 'Status', '116px'],
    ({ run }) => <StatusBadge status={run.status} />,
    ({ run }) => run.status,
  ),
  mutedColumn(['method', 'Method', '104px'], ({ run }) => run.algorithmTitle),
  numberColumn(['best', 'Best step', '88px'], ({ best }) => best.step, formatCount),
  numberColumn(['reward', 'Eval reward', '88px'], ({ best }) => best.reward, formatFixed),
  numberColumn(['last', 'Last step', '88px'], ({ last }) => last.step, formatCount),
  agoColumn(['saved', 'Saved', '112px'], ({ last }) => last.savedAt, now),
  unnamedColumn(['actions', 'Actions', '88px'], ({ run, best }) => (
    <Button
      small
      aria-label={`Export ${runTitle(run)}, step ${String(best.step)}`}
      onClick={() => navigate('/models/export', { run: run.id, step: String(best.step) })}
    >
      Export
    </Button>
  )),
]

import { X } from 'lucide-react'
import { useMemo, useState } from 'react'
import { formatDelta, formatNumber, plural } from '#renderer/client/format.ts'
import { useRescore } from './useTrials.ts'
import { link } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { KeyValue } from '#renderer/kit/Panel.tsx'
import { ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { versionNumber } from './library.ts'
import { compareScores, type Change } from './rescored.ts'
import type { RewardVersion } from './types.ts'

interface RescorePaneProps {
  readonly rewardId: string
  readonly run: RunEntry
  /** The version it was trained with. */
  readonly used: string
  readonly versions: readonly RewardVersion[]
  readonly onClose: () => void
}

const mostShown = 50

/** What another version would have paid for the samples a run has kept. */
export function RescorePane({ rewardId, run, used, versions, onClose }: RescorePaneProps) {
  const [version, setVersion] = useState(versions[0]?.hash ?? used)
  const { task, start, scores, samples, partName } = useRescore({ runId: run.id, version, rewardId })
  const comparison = useMemo(
    () => (scores === null ? null : compareScores(samples, scores, partName)),
    [scores, samples, partName],
  )
  return (
    <aside
      aria-label="Dry-run on recorded samples"
      className="flex w-108 max-w-full shrink-0 flex-col narrow:w-full narrow:border-l-0 narrow:border-t border-l border-line"
    >
      <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-3">
        <h3 className="truncate font-medium">Dry-run on recorded samples</h3>
        <span className="ml-auto" />
        <IconButton small label="Close" icon={<X size={13} aria-hidden />} onClick={onClose} />
      </header>
      <div className="flex min-h-0 grow flex-col gap-3 overflow-auto p-3 text-sm">
        <div className="flex items-center gap-2">
          <label className="flex items-center gap-2 text-muted">
            With
            <Select
              small
              aria-label="Version to score with"
              value={version}
              options={versions.map(({ hash, note }) => ({
                value: hash,
                label: `version ${String(versionNumber(versions, hash))}${hash === used ? ' (trained with)' : ''}${note === '' ? '' : ` · ${note}`}`,
              }))}
              onChange={setVersion}
            />
          </label>
          <Button small variant="primary" disabled={task.state === 'running'} onClick={start}>
            Dry-run
          </Button>
        </div>
        {task.state === 'running' && (
          <TaskProgress
            progress={
              task.last?.progress ?? { phase: 'Reading samples', done: 0, total: null, unit: 'samples' }
            }
            onCancel={task.cancel}
          />
        )}
        {task.error !== null && <ErrorNote error={task.error} />}
        {comparison !== null && task.state !== 'running' && (
          <>
            <KeyValue
              entries={[
                ['Samples', String(comparison.samples)],
                ['Mean then', formatNumber(comparison.meanBefore)],
                [
                  'Mean now',
                  `${formatNumber(comparison.meanAfter)} (${formatDelta(differenceOf(comparison))})`,
                ],
                ['Changed', plural(comparison.changed, 'sample')],
                ...(comparison.failed === 0
                  ? []
                  : [['Failed', plural(comparison.failed, 'sample')] as const]),
              ]}
            />
            <ol className="flex flex-col" aria-label="Samples that changed most">
              {comparison.changes.slice(0, mostShown).map((change) => (
                <ChangeItem key={change.sample.id} change={change} runId={run.id} />
              ))}
            </ol>
          </>
        )}
      </div>
    </aside>
  )
}

const differenceOf = ({ meanBefore, meanAfter }: { meanBefore: number | null; meanAfter: number | null }) =>
  meanBefore === null || meanAfter === null ? null : meanAfter - meanBefore

function ChangeItem({ change: { sample, before, after, error }, runId }: { change: Change; runId: string }) {
  return (
    <li className="flex gap-2 border-t border-line py-1">
      <a
        className="w-14 shrink-0 text-accent-ink tabular-nums hover:underline"
        href={link(`/runs/${runId}/samples`, { step: String(sample.step), sample: String(sample.id) })}
      >
        step {sample.step}
      </a>
      <span dir="auto" className="line-clamp-2 min-w-0 grow font-mono break-words">
        {error ?? sample.completion}
      </span>
      <span className="shrink-0 font-mono whitespace-nowrap tabular-nums">
        {reward(before)} → {error === null ? reward(after) : 'failed'}
      </span>
    </li>
  )
}

const reward = (value: number | null): string => (value === null ? 'null' : formatNumber(value))

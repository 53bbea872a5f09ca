import type { ReactNode } from 'react'
import type { Calibration } from './useDraft.ts'
import { etaWords } from '#renderer/client/eta.ts'
import { formatBytes, formatDuration, formatPercent, formatShare, plural } from '#renderer/client/format.ts'
import { Progress } from '#renderer/kit/states.tsx'

/** What the run will need. */
export function CalibrationNumbers({ result }: { result: Calibration }) {
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

/** Where the time of the tried group went. */
function StepTime({ seconds }: { seconds: Calibration['seconds'] }) {
  const total = parts.reduce((sum, [part]) => sum + seconds[part], 0)
  if (total === 0) return null
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
      <span>
        {parts
          .filter(([part]) => seconds[part] / total > 0.005)
          .map(
            ([part, words]) => `${formatPercent(Math.round((100 * seconds[part]) / total) / 100)} ${words}`,
          )
          .join(' · ')}
      </span>
    </>
  )
}

import type { SeriesByMetric } from '#renderer/charts/useSeries.ts'
import { lastValues, type SeriesPoint } from '#renderer/charts/lines.ts'
import { StackedTime, TimeColumns, type TimeColumn } from '#renderer/charts/TimeShares.tsx'
import { noun } from '#shared/plural.ts'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { Skeleton } from '#renderer/kit/states.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'

export const timeMetrics = [
  'step_time',
  'time/rollout',
  'time/reward',
  'time/score',
  'time/update',
  'eval_time',
  'checkpoint_time',
  'rollout/tokens_per_second',
  'update/tokens_per_second',
  'time/handover',
  'rollout/staleness',
  'rollout/servers',
  'rollout/server_adapters',
  'rollout/server_retries',
] as const

interface Props {
  readonly runId: string
  readonly byMetric: SeriesByMetric
  /** True if it samples completions, false if answers are given. */
  /** False until the values have been read. */
  readonly isLoaded: boolean
  readonly isGenerating: boolean
}

const averaged = 20

const measuredWords = (steps: number): string =>
  steps === 0 ? '' : `mean of the last ${plural(steps, 'step')}`

/** Time of a step by part, and its development. */
export function TimePanel({ runId, byMetric, isLoaded, isGenerating }: Props) {
  const points = (metric: string) => byMetric.get(metric)?.get(runId)?.points ?? []
  const meanOf = (metric: string) => {
    const values = lastValues(points(metric), averaged)
    return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length
  }
  const lastOf = (metric: string) => lastValues(points(metric), 1)[0] ?? null
  const means = Object.fromEntries(timeMetrics.map((metric) => [metric, meanOf(metric)]))
  const total = means['step_time'] ?? null
  const measured = lastValues(points('step_time'), averaged).length
  const columns = timeShares(points('step_time'), (name) => points(name))
  return (
    <section aria-label="Time per step" className="flex min-w-0 flex-col rounded border border-line bg-bg">
      <header className="flex h-9 shrink-0 items-center gap-1.5 pr-1.5 pl-3">
        <h3 className="font-medium">Time per step</h3>
        <span className="text-sm text-faint">{measuredWords(measured)}</span>
        <Help about="time per step">
          Generate: completions are sampled. Score: reward functions. Forward passes: the tokens under each
          policy, before the update. Learn: gradients and optimizer. Other: the rest of the step. Evaluations
          and checkpoints come between steps.
        </Help>
        {total !== null && (
          <span className="ml-auto pr-2 font-mono text-sm tabular-nums">{formatNumber(total)} s</span>
        )}
      </header>
      {total === null ? (
        <p className="flex min-h-24 items-center justify-center px-6 text-center text-sm text-faint">
          {isLoaded ? 'Not measured yet.' : <Skeleton label="Time per step" className="h-16 grow" />}
        </p>
      ) : (
        <div className="flex grow flex-col gap-3 px-3 pb-3">
          <StackedTime label="Time per step" whole={{ step: 0, seconds: total, parts: means }} />
          <TimeColumns columns={columns} />
          <p className="mt-auto text-sm text-muted tabular-nums">
            {[
              ['Generates', isGenerating ? means['rollout/tokens_per_second'] : null, 'tokens/s'],
              ['Learns from', means['update/tokens_per_second'], 'tokens/s'],
              ['Evaluation takes', means['eval_time'], 's'],
              ['Checkpoint takes', means['checkpoint_time'], 's'],
              ['Adapter hand-over takes', means['time/handover'], 's'],
            ]
              .flatMap(([words, value, unit]) =>
                typeof value === 'number' ? [`${String(words)} ${formatNumber(value)} ${String(unit)}`] : [],
              )
              .concat(
                serverFacts({
                  servers: lastOf('rollout/servers') ?? 1,
                  adapters: lastOf('rollout/server_adapters'),
                  retries: means['rollout/server_retries'] ?? null,
                  staleness: lastOf('rollout/staleness'),
                }),
              )
              .join(' · ')}
          </p>
        </div>
      )}
    </section>
  )
}

interface ServerFacts {
  readonly servers: number
  readonly adapters: number | null
  readonly retries: number | null
  readonly staleness: number | null
}

/** Facts on servers that generate in place of this machine; empty without one. */
function serverFacts({ servers, adapters, retries, staleness }: ServerFacts): string[] {
  const holding = servers === 1 ? 'The server holds' : `${formatNumber(servers)} servers hold`
  return [
    ...(adapters === null ? [] : [`${holding} ${plural(adapters, 'adapter version')}`]),
    ...(staleness === null
      ? []
      : [`Completions are ${formatNumber(staleness)} ${noun(staleness, 'step')} old`]),
    ...(retries === null || retries === 0 ? [] : [`${formatNumber(retries)} retries per step`]),
  ]
}

/* The time of steps, stretch by stretch, as columns. */

const maxColumns = 60
const parts = ['time/rollout', 'time/reward', 'time/score', 'time/update'] as const

/** Computes time shares; `pointsOf` returns the series of a part. */
export function timeShares(
  whole: readonly SeriesPoint[],
  pointsOf: (metric: string) => readonly SeriesPoint[],
): readonly TimeColumn[] {
  const size = Math.max(1, Math.ceil(whole.length / maxColumns))
  const columns: TimeColumn[] = []
  for (let at = 0; at < whole.length; at += size) {
    const stretch = whole.slice(at, at + size)
    const [first, last] = [stretch[0], stretch.at(-1)]
    if (!first || !last) continue
    const within = (metric: string) =>
      meanOf(pointsOf(metric).filter(({ step }) => step >= first.step && step <= last.lastStep))
    const means = parts.flatMap((metric) => {
      const mean = within(metric)
      return mean === null ? [] : [[metric, mean] as const]
    })
    columns.push({ step: first.step, seconds: meanOf(stretch) ?? 0, parts: Object.fromEntries(means) })
  }
  return columns
}

/** Mean weighted by the number of values in each range; null if empty. */
function meanOf(points: readonly SeriesPoint[]): number | null {
  const count = points.reduce((sum, point) => sum + point.count, 0)
  return count === 0 ? null : points.reduce((sum, point) => sum + point.mean * point.count, 0) / count
}

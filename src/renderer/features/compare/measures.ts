/** One number per run and metric, and its comparison with the baseline's. */
import { findDeclaration } from '#shared/metrics.ts'
import { lastValues, type SeriesPoint } from '#renderer/charts/lines.ts'
import { mean, meanEstimate, type Estimate } from '#shared/statistics.ts'
import type { Better } from '#renderer/charts/reading.ts'
import { tailLength } from '#shared/runGaps.ts'
import type { RunGroup } from '#shared/runGaps.ts'
import type { Statistic } from './state.ts'

export const betterOf = (metric: string): Better => findDeclaration(metric)?.better ?? 'none'

export const statisticWords: Readonly<Record<Statistic, string>> = {
  last: 'last value',
  best: 'best value',
  tail: 'mean of the last tenth',
}

export function measure(points: readonly SeriesPoint[], statistic: Statistic, better: Better): number | null {
  const last = points.at(-1)
  if (!last) return null
  if (statistic === 'last') return last.last
  if (statistic === 'best' && better !== 'none')
    return better === 'higher'
      ? points.reduce((most, { max }) => Math.max(most, max), -Infinity)
      : points.reduce((least, { min }) => Math.min(least, min), Infinity)
  const count = points.reduce((sum, point) => sum + point.count, 0)
  return mean(lastValues(points, tailLength(count)))
}

/** Mean over runs that differ only in their seed, with its 95 % interval. */
export interface SeedMean {
  readonly id: string
  readonly label: string
  /** Number of runs that got furthest, and the step they reached. */
  readonly count: number
  readonly step: number
  readonly mean: Estimate | null
}

/**
 * Means over each group of several runs, restricted to those at the last step that any of them reached; groups without
 * the metric are omitted.
 */
export const seedMeans = (
  groups: readonly RunGroup[],
  valueOf: (runId: string) => number | null,
  stepOf: (runId: string) => number,
): readonly SeedMean[] =>
  groups
    .filter(({ runIds }) => runIds.length > 1)
    .map(({ id, label, runIds }) => {
      const step = Math.max(...runIds.map(stepOf))
      const furthest = runIds.filter((runId) => stepOf(runId) === step)
      const mean = meanEstimate(furthest.flatMap((runId) => valueOf(runId) ?? []))
      return { id, label, count: furthest.length, step, mean }
    })

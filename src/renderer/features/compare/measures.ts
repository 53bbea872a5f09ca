/** One number per run and metric, and what it is worth beside the baseline's. */
import { findDeclaration } from '#shared/metrics.ts'
import { lastValues, type SeriesPoint } from '#renderer/charts/lines.ts'
import { mean, meanEstimate, type Estimate } from '#shared/statistics.ts'
import type { Better } from '#renderer/charts/reading.ts'
import type { RunGroup } from './groups.ts'
import type { Statistic } from './state.ts'

export const betterOf = (metric: string): Better => findDeclaration(metric)?.better ?? 'none'

export const statisticWords: Readonly<Record<Statistic, string>> = {
  last: 'last value',
  best: 'best value',
  tail: 'mean of the last tenth',
}

/** null: the run has no such number. */
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

/** Of runs that differ in their seed only, with its 95 % interval. */
export interface SeedMean {
  readonly id: string
  /** Of the runs, with how many they are. */
  readonly label: string
  /** How many of them got furthest, and to which step. */
  readonly count: number
  readonly step: number
  readonly mean: Estimate | null
}

/**
 * Of each group of several runs, over those that are at the last step that any of them reached; without those that have
 * no such number.
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

/** A tenth, but enough for a mean to be steady. */
export const tailLength = (count: number): number => Math.min(count, Math.max(5, Math.round(count / 10)))

/** Whether a difference is progress; null where neither way is. */
export function isProgress(delta: number, better: Better): boolean | null {
  if (better === 'none' || delta === 0) return null
  return better === 'higher' ? delta > 0 : delta < 0
}

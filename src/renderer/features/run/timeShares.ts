/** The time of steps, stretch by stretch, as columns. */
import type { SeriesPoint } from '#renderer/charts/points.ts'

export interface TimeColumn {
  /** First step of the stretch. */
  readonly step: number
  /** Mean of a whole step. */
  readonly seconds: number
  /** Metric → mean seconds. */
  readonly parts: Readonly<Record<string, number>>
}

const mostColumns = 60
const parts = ['time/rollout', 'time/reward', 'time/score', 'time/update'] as const

/** `pointsOf`: the series of a part. */
export function timeShares(
  whole: readonly SeriesPoint[],
  pointsOf: (metric: string) => readonly SeriesPoint[],
): readonly TimeColumn[] {
  const size = Math.max(1, Math.ceil(whole.length / mostColumns))
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

/** By the number of values in each stretch; null of none. */
function meanOf(points: readonly SeriesPoint[]): number | null {
  const count = points.reduce((sum, point) => sum + point.count, 0)
  return count === 0 ? null : points.reduce((sum, point) => sum + point.mean * point.count, 0) / count
}

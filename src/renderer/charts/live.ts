/** Series that grow while they are looked at. */
import type { SeriesPoint } from './points.ts'

export interface Series {
  /** In order of step. */
  readonly points: readonly SeriesPoint[]
  /** Steps whose value was no number. */
  readonly gaps: readonly number[]
}

export const emptySeries: Series = { points: [], gaps: [] }

/**
 * New values behind those that are there; what is known already is passed over. Beyond twice `maxPoints`, neighbours are
 * put together two by two, so that a series never grows without end.
 */
export function appended(
  series: Series,
  steps: readonly number[],
  values: readonly (number | null)[],
  maxPoints: number,
): Series {
  const points = [...series.points]
  const gaps = [...series.gaps]
  let known = Math.max(points.at(-1)?.lastStep ?? -1, gaps.at(-1) ?? -1)
  for (const [i, step] of steps.entries()) {
    if (step <= known) continue
    known = step
    const y = values[i] ?? null
    if (y === null || !Number.isFinite(y)) gaps.push(step)
    else points.push({ step, lastStep: step, min: y, max: y, mean: y, last: y, count: 1 })
  }
  return { points: points.length > 2 * maxPoints ? halved(points) : points, gaps }
}

/** Neighbours two by two. */
export function halved(points: readonly SeriesPoint[]): readonly SeriesPoint[] {
  const half: SeriesPoint[] = []
  for (let i = 0; i < points.length; i += 2) {
    const [a, b] = [points[i], points[i + 1]]
    if (a) half.push(b ? together(a, b) : a)
  }
  return half
}

/** Two neighbouring stretches as one. */
export function together(a: SeriesPoint, b: SeriesPoint): SeriesPoint {
  const count = a.count + b.count
  return {
    step: a.step,
    lastStep: b.lastStep,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    mean: (a.mean * a.count + b.mean * b.count) / count,
    last: b.last,
    count,
  }
}

/** The part of a series that was read again in more detail, in the place of what it covers. */
export function withDetail(series: Series, detail: Series, [from, to]: readonly [number, number]): Series {
  // What grew since the detail was read is not in it.
  const last = detail.points.at(-1)?.lastStep ?? to
  const before = series.points.filter(({ lastStep }) => lastStep < from)
  const after = series.points.filter(({ step }) => step > last)
  const gaps = [...series.gaps.filter((step) => step < from || step > to), ...detail.gaps].sort(
    (a, b) => a - b,
  )
  return { points: [...before, ...detail.points, ...after], gaps }
}

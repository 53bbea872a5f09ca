/** Smoothing by an exponential moving average whose memory is measured along the x axis, not in points. */
import type { ChartPoint, Dot } from './points.ts'

export const maxSmoothing = 0.99

/** Below so many points a line is shown as it is, unless someone asks. */
const fewPoints = 200
const usualSmoothing = 0.6

/** What a chart smooths by where nobody has chosen. */
export const automaticSmoothing = (longest: number): number => (longest < fewPoints ? 0 : usualSmoothing)

/**
 * The x distance over which the average forgets once: that of a step, so the weight means what it does for a plain moving
 * average over steps. Lines measured every tenth step are smoothed over the same stretch, not over ten times as much.
 * Beyond a thousand steps it is a thousandth of the whole.
 */
export function forgettingUnit(lines: readonly (readonly ChartPoint[])[]): number {
  let unit = Infinity
  for (const points of lines) {
    const [first, last] = [points[0], points.at(-1)]
    if (!first || !last || last.endX <= first.x) continue
    const steps = Math.max(1, last.lastStep - first.step)
    unit = Math.min(unit, (last.endX - first.x) / Math.min(999, steps))
  }
  return Number.isFinite(unit) ? unit : 1
}

/**
 * s(x) = Σ w^((x−xᵢ)/unit) yᵢ / Σ w^((x−xᵢ)/unit) over the points up to x: what came before counts less the farther
 * away it is, and the division takes away the pull towards 0 at the beginning. A stretch of several values counts as
 * often as it has values. A gap in the series does not end the memory, only the line.
 */
export function smooth(points: readonly ChartPoint[], weight: number, unit: number): readonly Dot[] {
  if (weight <= 0) return points.map(({ endX, last }) => ({ x: endX, y: last }))
  const keep = Math.min(weight, maxSmoothing)
  let [sum, mass, at] = [0, 0, 0]
  return points.map(({ endX, mean, count }, i) => {
    const kept = i === 0 ? 0 : keep ** (Math.max(0, endX - at) / unit)
    sum = sum * kept + mean * count
    mass = mass * kept + count
    at = endX
    return { x: endX, y: sum / mass }
  })
}

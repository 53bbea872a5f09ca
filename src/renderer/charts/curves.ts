/** Turns the points of a line into what is drawn: smoothing, reduction, gaps, and bands over several lines. */
import { bisectLeft, deviation, extent, greatest, mean } from 'd3-array'
import { meanEstimate, type Interval } from '#shared/statistics.ts'
import type { ScaleKind } from './axes.ts'
import { pointAt, type BandPoint, type ChartPoint, type Dot, type SeriesPoint } from './lines.ts'

export const maxSmoothing = 0.99

/** Number of points below which a line is not smoothed by default. */
const fewPoints = 200
const defaultSmoothing = 0.6

export const automaticSmoothing = (longest: number): number => (longest < fewPoints ? 0 : defaultSmoothing)

/**
 * Returns the x distance over which the average decays once: that of one step, so that the weight means the same as
 * in a plain moving average over steps. Lines measured every tenth step are smoothed over the same range, not ten
 * times as much. Beyond a thousand steps it is a thousandth of the whole.
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
 * Exponential moving average whose memory is measured along the x axis, not in points: s(x) = Σ w^((x−xᵢ)/unit) yᵢ /
 * Σ w^((x−xᵢ)/unit) over the points up to x. Earlier points count less the farther away they are, and the division
 * removes the bias towards 0 at the beginning. A range of several values counts as often as it has values. A gap in
 * the series does not end the memory, only the line.
 */
export function smooth(points: readonly ChartPoint[], weight: number, unit: number): readonly Dot[] {
  if (weight <= 0) return points.map(({ endX, last }) => ({ x: endX, y: last }))
  const keep = Math.min(weight, maxSmoothing)
  let [sum, mass, at] = [0, 0, 0]
  return points.map(({ endX, mean: value, count }, i) => {
    const kept = i === 0 ? 0 : keep ** (Math.max(0, endX - at) / unit)
    sum = sum * kept + value * count
    mass = mass * kept + count
    at = endX
    return { x: endX, y: sum / mass }
  })
}

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

/** Merges adjacent ranges so that at most `limit` are left. */
export function mergeStretches(points: readonly ChartPoint[], limit: number): readonly ChartPoint[] {
  const size = Math.ceil(points.length / limit)
  if (size <= 1) return points
  const groups = Array.from({ length: Math.ceil(points.length / size) }, (_, i) =>
    points.slice(i * size, (i + 1) * size),
  )
  return groups.map((group) => group.reduce((a, b) => ({ ...together(a, b), x: a.x, endX: b.endX })))
}

/**
 * Returns the points through which a line represents a range faithfully: its lowest and highest value (the one nearer
 * to the previous end first) and its end. A range of one value is one point.
 */
export function strokes(points: readonly ChartPoint[]): readonly Dot[] {
  const dots: Dot[] = []
  for (const { x, endX, min, max, last, count } of points) {
    const from = dots.at(-1)?.y ?? min
    if (count > 1 && max > min) {
      const isMinNearer = Math.abs(min - from) <= Math.abs(max - from)
      dots.push({ x, y: isMinNearer ? min : max }, { x: (x + endX) / 2, y: isMinNearer ? max : min })
    }
    dots.push({ x: endX, y: last })
  }
  return dots
}

/**
 * Moves the dots of a line to the nearest of some evenly spaced positions; of several at one position it keeps the
 * one farthest from the previous, so that spikes survive. Dots outside of all positions stay where they are.
 */
export function snapped(dots: readonly Dot[], places: readonly number[]): readonly Dot[] {
  const [first = 0, second = 1] = places
  const placeOf = (x: number) => places[Math.round((x - first) / (second - first))] ?? x
  return [...Map.groupBy(dots, ({ x }) => placeOf(x))].reduce<Dot[]>((found, [x, near]) => {
    const before = found.at(-1)?.y ?? near[0]?.y ?? 0
    const farthest = greatest(near, ({ y }) => Math.abs(y - before))
    return [...found, { x, y: farthest?.y ?? before }]
  }, [])
}

interface Reach {
  /** Sorted. */
  readonly gaps?: readonly number[]
  readonly scale?: ScaleKind
}

/**
 * Returns the values of a line at sorted positions: linear between its dots on the drawn scale, null before the
 * first, after the last and across gaps.
 */
export function valuesAt(
  places: readonly number[],
  dots: readonly Dot[],
  { gaps = [], scale = 'linear' }: Reach = {},
): readonly (number | null)[] {
  let at = 0
  return places.map((x) => {
    while ((dots[at + 1]?.x ?? Infinity) <= x) at++
    const [before, after] = [dots[at], dots[at + 1]]
    if (!before || x < before.x) return null
    if (x === before.x) return before.y
    const isCut = !after || (gaps[bisectLeft(gaps, before.x)] ?? Infinity) < after.x
    return isCut ? null : between(before, after, x, scale)
  })
}

function between(before: Dot, after: Dot, x: number, scale: ScaleKind): number {
  const share = (x - before.x) / (after.x - before.x)
  return scale === 'log' ? before.y * (after.y / before.y) ** share : before.y + (after.y - before.y) * share
}

export type BandKind = 'range' | 'deviation' | 'interval'

const maxPlaces = 300

/**
 * Summarizes several lines as one: their mean on a common x, over the lines that reach it, with a band for their
 * spread. `range`: from the lowest to the highest line; `deviation`: one standard deviation (n−1) to either side of
 * the mean; `interval`: the 95 % interval of the mean. Lines are interpolated linearly between their own points and
 * never beyond their ends.
 */
export function bandOf(lines: readonly (readonly Dot[])[], kind: BandKind) {
  const places = placesOf(
    lines.flatMap((line) => line.map(({ x }) => x)),
    maxPlaces,
  )
  const read = lines.map((line) => valuesAt(places, line))
  const points: ChartPoint[] = []
  const band: BandPoint[] = []
  for (const [i, x] of places.entries()) {
    const values = read.flatMap((line) => line[i] ?? [])
    const middle = mean(values)
    if (middle === undefined) continue
    points.push(pointAt(x, Math.round(x), middle))
    band.push({ x, ...spreadOf(values, middle, kind) })
  }
  return { points, band }
}

function spreadOf(values: readonly number[], middle: number, kind: BandKind): Interval {
  if (kind === 'interval') return meanEstimate(values)?.interval ?? { low: middle, high: middle }
  const spread = deviation(values) ?? 0
  const [low = middle, high = middle] = kind === 'range' ? extent(values) : [middle - spread, middle + spread]
  return { low, high }
}

/** Returns every position once, sorted, or an even grid from the first to the last if there are more than `most`. */
export function placesOf(all: readonly number[], most: number): readonly number[] {
  const places = [...new Set(all)].sort((a, b) => a - b)
  const [first, last] = [places[0], places.at(-1)]
  if (places.length <= most || first === undefined || last === undefined) return places
  return Array.from({ length: most }, (_, i) => first + ((last - first) * i) / (most - 1))
}

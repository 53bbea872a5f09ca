/**
 * Data model of charts. `useSeries.ts` reads series, this file makes lines of them, `curves.ts` reduces and smooths,
 * `axes.ts` lays out axes; `plot.ts` assembles one panel, `LineDrawing.tsx` draws it, `LinePlot.tsx` adds what
 * follows the pointer, `MetricChart.tsx` is the panel around it.
 */
import { bisector } from 'd3-array'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import type { XAxis } from './axes.ts'

/** Summary of a range of steps. */
export type SeriesPoint = OutputOf<Api, 'metrics.series'>['runs'][number]['points'][number]

export interface Series {
  /** Sorted by step. */
  readonly points: readonly SeriesPoint[]
  /** Steps whose value was NaN or infinite. */
  readonly gaps: readonly number[]
}

export const emptySeries: Series = { points: [], gaps: [] }

/** A range placed on an x axis, from `x` to `endX`. */
export interface ChartPoint extends SeriesPoint {
  readonly x: number
  readonly endX: number
}

export interface BandPoint {
  readonly x: number
  readonly low: number
  readonly high: number
}

export interface Dot {
  readonly x: number
  readonly y: number
}

export interface ChartLine {
  /** Stable id, derived from the run, group or metric. */
  readonly id: string
  readonly label: string
  /** CSS colour, such as var(--run-1). */
  readonly color: string
  /** SVG dash pattern, such as "6 3". */
  readonly dash?: string | undefined
  /** Drawn thick and above the others. */
  readonly isBaseline?: boolean | undefined
  /** Sorted by x. */
  readonly points: readonly ChartPoint[]
  /** Positions of NaN or infinite values, where the line is interrupted. */
  readonly gaps?: readonly number[] | undefined
  /** Band around the line, sorted by x. */
  readonly band?: readonly BandPoint[] | undefined
}

export type EventKind = 'resume' | 'checkpoint' | 'alarm' | 'reward' | 'fork' | 'setting'

export interface ChartEvent {
  readonly id: string
  readonly x: number
  readonly kind: EventKind
  readonly label: string
  readonly color?: string | undefined
}

export const pointAt = (x: number, step: number, y: number): ChartPoint => ({
  x,
  endX: x,
  step,
  lastStep: step,
  min: y,
  max: y,
  mean: y,
  last: y,
  count: 1,
})

/** Maps a step to the x where it ends. Increasing; step 0 maps to 0. */
export type Placement = (step: number) => number

const itself: Placement = (step) => step

/**
 * Maps the steps of one run onto an axis. `series` holds the metrics of `metricsOfAxis`. Time is the sum of the
 * durations of steps, evaluations and checkpoints, so pauses do not count; tokens are already a running total;
 * trajectories are summed. Linear between known positions, extrapolated after the last one.
 */
export function placementOf(axis: XAxis, series: readonly (readonly SeriesPoint[])[]): Placement {
  if (axis === 'step') return itself
  const parts = series.filter((points) => points.length > 0).map((points) => reader(places(axis, points)))
  if (parts.length === 0) return () => NaN
  return (step) => parts.reduce((sum, read) => sum + read(step), 0)
}

type Place = readonly [step: number, x: number]

function places(axis: XAxis, points: readonly SeriesPoint[]): readonly Place[] {
  if (axis === 'tokens') return [[0, 0], ...points.map(({ lastStep, last }) => [lastStep, last] as const)]
  let total = 0
  return points.reduce<Place[]>(
    (found, { step, lastStep, mean, count }) => {
      // A range of several values lies between its first and its last step, not between it and the previous one.
      found.push([Math.max(0, step - 1), total])
      total += mean * count
      found.push([lastStep, total])
      return found
    },
    [[0, 0]],
  )
}

const byStep = bisector(([step]: Place) => step)

function reader(known: readonly Place[]): (step: number) => number {
  return (step) => {
    const low = Math.max(0, byStep.right(known, step) - 1)
    const [before, after] = [known[low], known[low + 1]]
    if (!before) return 0
    if (!after || after[0] === before[0]) return before[1]
    return before[1] + ((after[1] - before[1]) * (step - before[0])) / (after[0] - before[0])
  }
}

/** Places a series on an axis, dropping points without a position. */
function placed(points: readonly SeriesPoint[], place: Placement): readonly ChartPoint[] {
  return points.flatMap((point) => {
    const [x, endX] = [place(point.step), place(point.lastStep)]
    return Number.isFinite(x) && Number.isFinite(endX) ? [{ ...point, x, endX }] : []
  })
}

/** Returns the last step whose position is not beyond x. */
export function stepAtPlace(place: Placement, x: number, lastStep: number): number {
  let [low, high] = [0, lastStep]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (place(middle) <= x) low = middle
    else high = middle - 1
  }
  return low
}

export type LineStyle = Pick<ChartLine, 'id' | 'label' | 'color' | 'dash' | 'isBaseline'>

/** Makes a line of the series of one run or metric; by step if no placement is given. */
export function seriesLine(
  style: LineStyle,
  series: Series | undefined,
  place: Placement = itself,
): ChartLine {
  const { points, gaps } = series ?? emptySeries
  return { ...style, points: placed(points, place), gaps: gaps.map(place).filter((x) => Number.isFinite(x)) }
}

const intervals = [
  [0, 1],
  [-1, 0],
  [-1, 1],
] as const

/** Ratio by which standard deviations of small groups exceed that of the whole: √2 for pairs. */
const smallGroups = Math.SQRT2

/**
 * Infers bounds of the values from means and standard deviations: values within [a, b] have a variance of at most (b
 * − mean)(mean − a), so a single step with a larger spread rules such bounds out. Null: no bounds.
 */
function boundsOf(points: readonly SeriesPoint[], around: ReadonlyMap<number, SeriesPoint>) {
  const fits = ([low, high]: readonly [number, number]): boolean =>
    points.every(({ step, mean }) => {
      const width = around.get(step)?.mean ?? 0
      return (
        mean >= low && mean <= high && width <= smallGroups * Math.sqrt((high - mean) * (mean - low)) + 1e-9
      )
    })
  return intervals.find(fits) ?? null
}

/** Adds a band of `spread` to either side of the line where it is known, cut off at the bounds of the values. */
export function withBand(line: ChartLine, spread: Series | undefined, place: Placement = itself): ChartLine {
  const around = new Map((spread?.points ?? []).map((point) => [point.step, point]))
  const [lowest, highest] = boundsOf(line.points, around) ?? [-Infinity, Infinity]
  const band = line.points.flatMap(({ step, lastStep, mean }): readonly BandPoint[] => {
    const width = around.get(step)?.mean
    if (width === undefined) return []
    return [
      { x: place(lastStep), low: Math.max(lowest, mean - width), high: Math.min(highest, mean + width) },
    ]
  })
  return { ...line, band }
}

/** Returns the values of the last steps of a series, the newest last: for each range its mean, repeated once per value. */
export function lastValues(points: readonly SeriesPoint[], count: number): readonly number[] {
  const values: number[] = []
  for (const point of points.toReversed()) {
    for (let i = 0; i < point.count && values.length < count; i++)
      values.push(point.count === 1 ? point.last : point.mean)
    if (values.length >= count) break
  }
  return values.reverse()
}

/** What may stand along the x axis, and how steps are placed on it. */
import type { ChartPoint, SeriesPoint } from './points.ts'
import { axisNumber, axisTime, linearTicks, timeTicks, wholeTicks } from './ticks.ts'

export const xAxes = ['step', 'time', 'tokens', 'samples'] as const
export type XAxis = (typeof xAxes)[number]

interface XAxisSpec {
  /** In a menu. */
  readonly title: string
  /** At the end of the axis. */
  readonly label: string
  readonly ticks: (low: number, high: number, count: number) => readonly number[]
  /** The last place that can have a tick. */
  readonly end: (high: number) => number
  readonly write: (x: number) => string
}

const itself = (high: number): number => high

export const xAxisSpecs: Readonly<Record<XAxis, XAxisSpec>> = {
  step: { title: 'Step', label: 'step', ticks: wholeTicks, end: Math.floor, write: axisNumber },
  time: { title: 'Training time', label: 'training time', ticks: timeTicks, end: itself, write: axisTime },
  tokens: { title: 'Tokens', label: 'tokens', ticks: linearTicks, end: itself, write: axisNumber },
  samples: {
    title: 'Trajectories',
    label: 'trajectories',
    ticks: linearTicks,
    end: itself,
    write: axisNumber,
  },
}

/** The metrics of a run that say how far along an axis each step is; none for steps themselves. */
export const metricsOfAxis: Readonly<Record<XAxis, readonly string[]>> = {
  step: [],
  time: ['step_time', 'eval_time', 'checkpoint_time'],
  tokens: ['num_tokens'],
  samples: ['update/trajectories'],
}

/** The axes on which steps can be placed by the metrics there are; those of evaluations and checkpoints may be missing. */
export const axesOf = (names: readonly string[]): readonly XAxis[] =>
  xAxes.filter((axis) => {
    const [main] = metricsOfAxis[axis]
    return main === undefined || names.includes(main)
  })

/** Where along the axis a step ends. Growing; the place of step 0 is 0. */
export type Placement = (step: number) => number

/**
 * How the steps of one run lie along an axis. `series` holds what `metricsOfAxis` names. Time is the sum of the
 * durations of steps, evaluations and checkpoints, so pauses do not count; tokens are a running total already; trajectories are
 * summed. Between known places the way is straight; behind the last one it goes on as before.
 */
export function placementOf(axis: XAxis, series: readonly (readonly SeriesPoint[])[]): Placement {
  if (axis === 'step') return (step) => step
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
      // A stretch of several values lies between its first and its last step, not between it and the one before.
      found.push([Math.max(0, step - 1), total])
      total += mean * count
      found.push([lastStep, total])
      return found
    },
    [[0, 0]],
  )
}

function reader(known: readonly Place[]): (step: number) => number {
  return (step) => {
    let [low, high] = [0, known.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((known[middle]?.[0] ?? Infinity) <= step) low = middle
      else high = middle - 1
    }
    const [before, after] = [known[low], known[low + 1]]
    if (!before) return 0
    if (!after || after[0] === before[0]) return before[1]
    return before[1] + ((after[1] - before[1]) * (step - before[0])) / (after[0] - before[0])
  }
}

/** A series on an axis; what has no place on it is left out. */
export function placed(points: readonly SeriesPoint[], place: Placement): readonly ChartPoint[] {
  return points.flatMap((point) => {
    const [x, endX] = [place(point.step), place(point.lastStep)]
    return Number.isFinite(x) && Number.isFinite(endX) ? [{ ...point, x, endX }] : []
  })
}

/** The last step whose place is not beyond x. */
export function stepAtPlace(place: Placement, x: number, lastStep: number): number {
  let [low, high] = [0, lastStep]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (place(middle) <= x) low = middle
    else high = middle - 1
  }
  return low
}

/** Axes of parallel coordinates: positions of values on them, and brushes. */
import { extent, least, ticks as ticksOf } from 'd3-array'
import { scaleLinear, scaleLog, scalePoint } from 'd3-scale'
import { axisNumber, axisNumber3, logTicks } from './axes.ts'

export type AxisValue = number | string | boolean | null

export interface AxisSpec {
  readonly key: string
  readonly label: string
  /** Limits of a number axis. Default: those of the values, on a log scale if they are spread widely. */
  readonly range?: { readonly min: number; readonly max: number; readonly isLog: boolean } | undefined
  /** Names in order. Default: those among the values, sorted. */
  readonly names?: readonly string[] | undefined
  /** Colours along the axis, from bottom to top. */
  readonly gradient?: readonly string[] | undefined
}

export interface ParallelAxis extends AxisSpec {
  readonly kind: 'number' | 'log' | 'category'
  readonly ticks: readonly { readonly share: number; readonly text: string }[]
  /** Position of a value: 0 at the bottom, 1 at the top; null if the run has no such value. */
  readonly share: (value: AxisValue) => number | null
  readonly textAt: (share: number) => string
  /** Rounds a brush to the nearest valid one. */
  readonly snapped: (brush: Brush) => Brush
}

export type Brush = readonly [low: number, high: number]

/** Brushes by axis key; axes without one accept all values. */
export type Brushes = Readonly<Record<string, Brush>>

/** Ratio of the largest to the smallest value, all above 0, from which an axis becomes logarithmic. */
const logFactor = 50

export function parallelAxis(spec: AxisSpec, values: readonly AxisValue[]): ParallelAxis {
  const known = values.filter((value) => value !== null)
  const numbers = known.filter((value) => typeof value === 'number' && Number.isFinite(value)).map(Number)
  const [low, high] = extent(numbers)
  const isNumeric = spec.names === undefined && numbers.length === known.length
  const range =
    spec.range ??
    (low === undefined ? undefined : { min: low, max: high, isLog: low > 0 && high / low > logFactor })
  return isNumeric && range !== undefined
    ? numericAxis(spec, range)
    : categories(spec, spec.names ?? namesOf(known))
}

function numericAxis(spec: AxisSpec, { min, max, isLog }: NonNullable<AxisSpec['range']>): ParallelAxis {
  const scale = (isLog ? scaleLog : scaleLinear)([min, max], min === max ? [0.5, 0.5] : [0, 1]).clamp(true)
  const ticks = isLog ? logTicks(min, max) : min === max ? [min] : ticksOf(min, max, 4)
  return {
    ...spec,
    kind: isLog ? 'log' : 'number',
    ticks: ticks.map((at) => ({ share: scale(at), text: axisNumber(at) })),
    share: (value) => (typeof value === 'number' && Number.isFinite(value) ? scale(value) : null),
    textAt: (share) => axisNumber3(min === max ? min : scale.invert(share)),
    snapped: (brush) => brush,
  }
}

const namesOf = (known: readonly AxisValue[]): readonly string[] =>
  [...new Set(known.map(String))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))

function categories(spec: AxisSpec, names: readonly string[]): ParallelAxis {
  const scale = scalePoint(names, [0, 1])
  const ticks = names.map((text) => ({ text, share: scale(text) ?? 0 }))
  const nearest = (share: number) => least(ticks, (tick) => Math.abs(tick.share - share))
  const snap = (share: number) => nearest(share)?.share ?? share
  return {
    ...spec,
    kind: 'category',
    ticks,
    share: (value) => (value === null ? null : (scale(String(value)) ?? null)),
    textAt: (share) => nearest(share)?.text ?? '',
    snapped: ([low, high]) => [snap(low), snap(high)],
  }
}

const little = 1e-9

/** True if a line passes through every brush. shares: [axes] */
export const isWithin = (
  axes: readonly ParallelAxis[],
  shares: readonly (number | null)[],
  brushes: Brushes,
): boolean =>
  axes.every(({ key }, i) => {
    const brush = brushes[key]
    const share = shares[i] ?? null
    return brush === undefined || (share !== null && share >= brush[0] - little && share <= brush[1] + little)
  })

export function chosenOf<Run extends { readonly values: Readonly<Record<string, AxisValue>> }>(
  specs: readonly AxisSpec[],
  runs: readonly Run[],
  brushes: Brushes,
): readonly Run[] {
  const valuesOf = (key: string) => runs.map(({ values }) => values[key] ?? null)
  const axes = specs.map((spec) => parallelAxis(spec, valuesOf(spec.key)))
  return runs.filter(({ values }) =>
    isWithin(
      axes,
      axes.map(({ key, share }) => share(values[key] ?? null)),
      brushes,
    ),
  )
}

/**
 * Returns how a drag changes a brush: at one of its ends it moves that end, inside it moves the whole, elsewhere it
 * starts a new one.
 */
export function dragged(brush: Brush | undefined, from: number, near: number): (to: number) => Brush {
  if (brush === undefined) return (to) => [Math.min(from, to), Math.max(from, to)]
  const [low, high] = brush
  const anchor = Math.abs(low - from) < near ? high : Math.abs(high - from) < near ? low : from
  if (anchor !== from || from < low || from > high)
    return (to) => [Math.min(anchor, to), Math.max(anchor, to)]
  return (to) => {
    const shift = Math.min(1 - high, Math.max(-low, to - from))
    return [low + shift, high + shift]
  }
}

/** Distance moved by an arrow key and by a page key, as fractions of a number axis. */
const steps = { small: 0.02, large: 0.1 }

/** Moves one end of a brush by a key. Null: the brush covers the whole axis; undefined: the key moves nothing. */
export function movedEnd(
  axis: ParallelAxis,
  [low, high]: Brush,
  end: 'from' | 'to',
  key: string,
): Brush | null | undefined {
  const isCategory = axis.kind === 'category'
  const step = isCategory ? 1 / Math.max(1, axis.ticks.length - 1) : steps.small
  const page = isCategory ? step : steps.large
  const now = end === 'from' ? low : high
  const moves: Readonly<Record<string, number>> = {
    ArrowUp: now + step,
    ArrowRight: now + step,
    ArrowDown: now - step,
    ArrowLeft: now - step,
    PageUp: now + page,
    PageDown: now - page,
    Home: 0,
    End: 1,
  }
  const to = moves[key]
  if (to === undefined) return undefined
  const rounded = Math.round(Math.min(1, Math.max(0, to)) * 1e6) / 1e6
  const moved: Brush = axis.snapped(
    end === 'from' ? [Math.min(rounded, high), high] : [low, Math.max(rounded, low)],
  )
  return moved[0] <= little && moved[1] >= 1 - little ? null : moved
}

/** Axes: choices for x, value ranges, ticks, and number formats. */
import { extent, min, range, ticks } from 'd3-array'

export type Range = readonly [from: number, to: number]

export const xAxes = ['step', 'time', 'tokens', 'samples'] as const
export type XAxis = (typeof xAxes)[number]

interface XAxisSpec {
  /** Label in a menu. */
  readonly title: string
  readonly label: string
  readonly ticks: (low: number, high: number, count: number) => readonly number[]
  readonly end: (high: number) => number
  readonly write: (x: number) => string
}

const itself = (high: number): number => high

export const xAxisSpecs: Readonly<Record<XAxis, XAxisSpec>> = {
  step: { title: 'Step', label: 'step', ticks: wholeTicks, end: Math.floor, write: axisNumber },
  time: { title: 'Training time', label: 'training time', ticks: timeTicks, end: itself, write: axisTime },
  tokens: { title: 'Tokens', label: 'tokens', ticks, end: itself, write: axisNumber },
  samples: {
    title: 'Trajectories',
    label: 'trajectories',
    ticks,
    end: itself,
    write: axisNumber,
  },
}

/** Metrics of a run that tell how far along an axis each step is; none for steps themselves. */
export const metricsOfAxis: Readonly<Record<XAxis, readonly string[]>> = {
  step: [],
  time: ['step_time', 'eval_time', 'checkpoint_time'],
  tokens: ['num_tokens'],
  samples: ['update/trajectories'],
}

/** Returns the axes available with these metrics; those of evaluations and checkpoints may be missing. */
export const axesOf = (names: readonly string[]): readonly XAxis[] =>
  xAxes.filter((axis) => {
    const [main] = metricsOfAxis[axis]
    return main === undefined || names.includes(main)
  })

export type ScaleKind = 'linear' | 'log'

export interface ValueAxis {
  readonly scale: ScaleKind
  readonly domain: Range
  readonly ticks: readonly number[]
}

/** Decades shown on a log axis. Smaller values count as 0, since they would compress everything else. */
const maxDecades = 8

/** Returns a y axis padded above and below its values, ignoring NaN and infinities; linear if no value is above 0. */
export function valueAxis(values: readonly number[], scale: ScaleKind, tickCount = 4): ValueAxis {
  const known = values.filter((value) => Number.isFinite(value))
  const [low = 0, high = 1] = extent(known)
  const lowest = scale === 'log' ? min(known.filter((value) => value > 0)) : undefined
  if (lowest !== undefined) {
    const [from, to] = [Math.log10(Math.max(lowest, high / 10 ** maxDecades)), Math.log10(high)]
    const room = Math.max(0.04, (to - from) * 0.05)
    const domain: Range = [10 ** (from - room), 10 ** (to + room)]
    return { scale, domain, ticks: logTicks(...domain) }
  }
  const domain = padded(low, high)
  const wanted = ticks(...domain, tickCount)
  // A single tick does not show the scale.
  return { scale: 'linear', domain, ticks: wanted.length < 2 ? ticks(...domain, 2 * tickCount) : wanted }
}

function padded(low: number, high: number): Range {
  if (low === high) {
    const room = Math.abs(low) * 0.5 || 1
    return low >= 0 ? [Math.max(0, low - room), high + room] : [low - room, high + room]
  }
  const room = (high - low) * 0.06
  // Fractions and lengths begin at 0; padding below would only raise questions.
  const startsAtZero = low >= 0 && (low - room < 0 || low < (high - low) * 0.25)
  return [startsAtZero ? 0 : low - room, high + room]
}

/** True if a value lies outside of the axis and is drawn at its edge with a mark. */
export const isClamped = (value: number, { scale, domain }: ValueAxis): boolean =>
  scale === 'log' && value < domain[0]

/** Returns the position of a value on the axis, from 0 at its start to 1 at its end. */
export function placeOnAxis(value: number, { scale, domain: [low, high] }: ValueAxis): number {
  const at = (each: number) => (scale === 'log' ? Math.log(each) : each)
  return (at(value) - at(low)) / (at(high) - at(low))
}

/** Returns the value at which an out-of-range value is drawn. */
export const clamped = (value: number, axis: ValueAxis): number =>
  isClamped(value, axis) ? axis.domain[0] : value

export function wholeTicks(low: number, high: number, count: number): readonly number[] {
  return ticks(low, high, Math.max(1, Math.min(count, high - low))).filter((tick) => Number.isInteger(tick))
}

/** Ticks for these values; whole ones if all values are, such as numbers of trials. */
export const ticksAlong = (values: readonly number[], [low, high]: Range): readonly number[] =>
  values.every(Number.isInteger) ? wholeTicks(low, high, 6) : ticks(low, high, 6)

/** Smallest distance between a tick and the end, as a fraction of the range. */
const besideEnd = 0.09

/** Adds a tick at the end and drops those that would touch it, since the end is what one looks for first. */
export const withEnd = (all: readonly number[], low: number, end: number): readonly number[] =>
  end > low ? [...all.filter((tick) => end - tick >= (end - low) * besideEnd), end] : all

/** Returns the powers of ten inside the range; if few, also 2 and 5 times them; if still few, evenly spaced numbers. */
export function logTicks(low: number, high: number): readonly number[] {
  const powers = range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
  const inside = (factors: readonly number[]) =>
    powers
      .flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)))
      .filter((tick) => tick >= low * 0.999999 && tick <= high * 1.000001)
  const tens = inside([1])
  const stride = Math.ceil(tens.length / 6)
  if (tens.length >= 3) return tens.filter((_, i) => i % stride === 0)
  const more = inside([1, 2, 5])
  return more.length < 3 ? ticks(low, high, 4) : more
}

const durations = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
]

/** Returns round times inside a range of seconds. */
export function timeTicks(low: number, high: number, count: number): readonly number[] {
  const rough = (high - low) / count
  const step = durations.find((duration) => duration >= rough)
  if (rough < 1 || step === undefined) return ticks(low, high, count)
  return range(Math.ceil(low / step), Math.floor(high / step) + 1).map((i) => i * step)
}

/**
 * Formats up to four significant digits, with k, M, G from thousands on, and a power of ten for very small and very
 * large numbers.
 */
export function axisNumber(value: number): string {
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size < 1e-3 || size >= 1e12) return minus(trimmed(value.toExponential(1)).replace('e+', 'e'))
  const [unit, letter] =
    size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : size >= 1e4 ? [1e3, 'k'] : [1, '']
  return minus(`${Number((value / unit).toPrecision(4))}${letter}`)
}

const trimmed = (text: string): string => text.replace(/\.0(?=e)/, '')
const minus = (text: string): string => text.replace('-', '−').replace('e-', 'e−')

/** Formats three significant digits. */
export const axisNumber3 = (value: number): string =>
  value === 0 ? '0' : axisNumber(Number(value.toPrecision(3)))

/**
 * Formats exactly three significant digits, trailing zeros included, so that numbers in a column compare at a glance;
 * whole numbers stay as they are.
 */
export function readNumber(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) || size < 1e-3 || size >= 1000) return axisNumber3(value)
  return minus(value.toPrecision(3))
}

const timeUnits = [
  [2 * 86_400, 86_400, 'd'],
  [5400, 3600, 'h'],
  [120, 60, 'min'],
  [1, 1, 's'],
] as const

/** Formats seconds as 45 ms, 45 s, 12 min, 1.5 h, 2 d. */
export function axisTime(seconds: number): string {
  const size = Math.abs(seconds)
  const [, unit, letter] =
    timeUnits.find(([from]) => size >= from) ?? (size === 0 ? timeUnits[3] : [0, 1e-3, 'ms'])
  return minus(`${String(Number((seconds / unit).toPrecision(3)))} ${letter}`)
}

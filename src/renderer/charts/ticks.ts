/** Round numbers along an axis, and how they are written. */

/** Multiples of 1, 2 or 5 × a power of ten inside the range, about `count` of them. */
export function linearTicks(low: number, high: number, count: number): readonly number[] {
  const span = high - low
  if (!(span > 0) || count < 1) return [low]
  const rough = span / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10
  const step = factor * power
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  const digits = Math.max(0, -Math.floor(Math.log10(step)))
  return Array.from(
    { length: last - first + 1 },
    (_, i) => Number(((first + i) * step).toFixed(Math.min(20, digits))) + 0,
  )
}

/** Whole numbers only, for steps. */
export const wholeTicks = (low: number, high: number, count: number): readonly number[] => [
  ...new Set(linearTicks(low, high, count).filter((tick) => Number.isInteger(tick))),
]

/** How near to the end a tick may stand beside it, as a share of the range. */
const besideEnd = 0.09

/** With a tick at the end, in place of those that would touch it: how far it goes is what one looks for first. */
export const withEnd = (ticks: readonly number[], low: number, end: number): readonly number[] =>
  end > low ? [...ticks.filter((tick) => end - tick >= (end - low) * besideEnd), end] : ticks

/** Powers of ten inside the range; where those are few, 1, 2 and 5 times them; where those are, evenly spaced numbers. */
export function logTicks(low: number, high: number): readonly number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const powers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const inside = (factors: readonly number[]) =>
    powers
      .flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)))
      .filter((tick) => tick >= low * 0.999999 && tick <= high * 1.000001)
  const tens = inside([1])
  if (tens.length < 3) {
    const more = inside([1, 2, 5])
    return more.length < 3 ? linearTicks(low, high, 4) : more
  }
  const stride = Math.ceil(tens.length / 6)
  return tens.filter((_, i) => i % stride === 0)
}

const durations = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
]

/** Round times inside a range of seconds. */
export function timeTicks(low: number, high: number, count: number): readonly number[] {
  const rough = (high - low) / count
  const step = durations.find((duration) => duration >= rough)
  if (rough < 1 || step === undefined) return linearTicks(low, high, count)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step)
}

/** Three significant digits, thousands and above with k, M, G, very small and very large ones with a power of ten. */
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

const timeUnits = [
  [2 * 86_400, 86_400, 'd'],
  [5400, 3600, 'h'],
  [120, 60, 'min'],
  [1, 1, 's'],
] as const

/** Seconds as 45 ms, 45 s, 12 min, 1.5 h, 2 d. */
export function axisTime(seconds: number): string {
  const size = Math.abs(seconds)
  const [, unit, letter] =
    timeUnits.find(([from]) => size >= from) ?? (size === 0 ? timeUnits[3] : [0, 1e-3, 'ms'])
  return minus(`${String(Number((seconds / unit).toPrecision(3)))} ${letter}`)
}

/** Values of searched settings as points of the unit interval, and sequences of such points. */
import { isLogRange, type MutatedRange, type Parameter } from '#shared/studies.ts'
import { randomStream } from '#shared/random.ts'

/** The value at `unit`, which is from 0 up to 1. Each whole number and each choice has a share of equal width. */
export function valueAtUnit(parameter: Parameter, unit: number): unknown {
  if ('values' in parameter) {
    const { values } = parameter
    return values[Math.min(Math.floor(unit * values.length), values.length - 1)]
  }
  const { min, max, whole } = parameter
  const [from, to] = whole === true ? [min - 0.5, max + 0.5] : [min, max]
  // Half a step below a minimum of 0 there is no logarithm.
  const value = isLogRange(parameter)
    ? Math.exp(Math.log(Math.max(from, min / 2)) * (1 - unit) + Math.log(to) * unit)
    : from * (1 - unit) + to * unit
  const exact = whole === true ? Math.round(value) : roundTo(value, 6)
  return Math.min(Math.max(exact, min), max)
}

/** Place of a value between its limits, from 0 to 1; of a choice, the middle of its share. */
export function unitOfValue(parameter: Parameter, value: unknown): number {
  if ('values' in parameter) {
    const place = parameter.values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value))
    return (Math.max(place, 0) + 0.5) / parameter.values.length
  }
  const { min, max } = parameter
  const number = Math.min(Math.max(Number(value), min), max)
  const [a, b, x] = isLogRange(parameter)
    ? [Math.log(min), Math.log(max), Math.log(number)]
    : [min, max, number]
  return (x - a) / (b - a)
}

/** People read these values; six significant digits are finer than any of them matters. */
const roundTo = (value: number, digits: number): number => Number(value.toPrecision(digits))

/**
 * Returns all values of a choice; of a range `points` values, evenly spread from limit to limit, whole numbers only
 * once.
 */
export function gridValues(parameter: Parameter, points: number): unknown[] {
  if ('values' in parameter) return [...parameter.values]
  const { min, max, whole } = parameter
  const values = Array.from({ length: points }, (_, i) => {
    const unit = i / (points - 1)
    const value = isLogRange(parameter)
      ? Math.exp(Math.log(min) * (1 - unit) + Math.log(max) * unit)
      : min * (1 - unit) + max * unit
    return Math.min(Math.max(whole === true ? Math.round(value) : roundTo(value, 6), min), max)
  })
  return [...new Set(values)]
}

const primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71]

/**
 * Point `index` of a Halton sequence in `dimensions` dimensions, shifted at random by `seed` (Cranley and Patterson 1976): points that
 * fill the unit cube more evenly than independent ones, however many there will be. The point 0 belongs to it: without it, the first
 * points leave a gap three times as wide as the others. Beyond 20 dimensions the rest is independent.
 */
export function haltonPoint(index: number, dimensions: number, seed: number): number[] {
  return Array.from({ length: dimensions }, (_, i) => {
    const random = randomStream(seed, i)
    const prime = primes[i]
    return prime === undefined
      ? random.uniformAt(index + 1)
      : (radicalInverse(index, prime) + random.uniformAt(0)) % 1
  })
}

/** The digits of `index` in a base, mirrored at the point. */
function radicalInverse(index: number, base: number): number {
  let [rest, share, sum] = [index, 1 / base, 0]
  while (rest > 0) {
    sum += (rest % base) * share
    rest = Math.floor(rest / base)
    share /= base
  }
  return sum
}

/** The value made smaller (`uniform` < 0.5) or larger, within its range. uniform: from 0 to 1. Whole numbers are truncated, as in AgileRL. */
export function mutatedValue(
  value: number,
  { min, max, shrink, grow, whole }: MutatedRange,
  uniform: number,
): number {
  const moved = value * (uniform < 0.5 ? shrink : grow)
  const within = Math.min(Math.max(moved, min), max)
  return whole === true ? Math.trunc(within) : within
}

/** Real numbers with some 70 digits: whole numbers times powers of two, and functions computed by their series. */
import type { Rational } from './rational.ts'
import { Incomputable } from './fingerprint.ts'

/** `mantissa` · 2^`exponent`. */
export interface Real {
  readonly mantissa: bigint
  readonly exponent: number
}

const precision = 256
/** Number of bits by which a difference must be smaller than its terms to count as 0. */
const noise = 200
/** A summand this much smaller than the other would hardly be seen. */
const sight = 100
const furthest = 1_000_000

const bitsOf = (value: bigint): number => (value < 0n ? -value : value).toString(16).length * 4

function rounded(mantissa: bigint, exponent: number): Real {
  if (mantissa === 0n) return zero
  const excess = bitsOf(mantissa) - precision
  if (Math.abs(exponent + excess) > furthest) throw new Incomputable()
  return excess <= 0
    ? { mantissa, exponent }
    : { mantissa: mantissa >> BigInt(excess), exponent: exponent + excess }
}

export const zero: Real = { mantissa: 0n, exponent: 0 }
export const one: Real = { mantissa: 1n, exponent: 0 }
export const isZero = ({ mantissa }: Real): boolean => mantissa === 0n
export const isNegative = ({ mantissa }: Real): boolean => mantissa < 0n
export const negative = ({ mantissa, exponent }: Real): Real => ({ mantissa: -mantissa, exponent })
/** About the binary logarithm of the size. */
export const scaleOf = ({ mantissa, exponent }: Real): number =>
  mantissa === 0n ? -Infinity : bitsOf(mantissa) + exponent

export const realOf = ({ above, below }: Rational): Real => dividedBy(rounded(above, 0), rounded(below, 0))

/** Adds or subtracts without checking for lost digits. */
export function plainSum(a: Real, b: Real): Real {
  if (isZero(a)) return b
  if (isZero(b)) return a
  const [high, low] = a.exponent >= b.exponent ? [a, b] : [b, a]
  const shift = high.exponent - low.exponent
  if (shift > 2 * precision) return scaleOf(high) > scaleOf(low) ? high : low
  return rounded((high.mantissa << BigInt(shift)) + low.mantissa, low.exponent)
}

/** Errors: Incomputable where one summand would be lost beside the other. */
export function plus(a: Real, b: Real): Real {
  if (isZero(a) || isZero(b)) return plainSum(a, b)
  if (Math.abs(scaleOf(a) - scaleOf(b)) > sight) throw new Incomputable()
  const total = plainSum(a, b)
  return scaleOf(total) < Math.max(scaleOf(a), scaleOf(b)) - noise ? zero : total
}

export const times = (a: Real, b: Real): Real => rounded(a.mantissa * b.mantissa, a.exponent + b.exponent)

export function dividedBy(a: Real, b: Real): Real {
  if (isZero(b)) throw new Incomputable()
  const shift = precision + 8 + Math.max(0, bitsOf(b.mantissa) - bitsOf(a.mantissa))
  return rounded((a.mantissa << BigInt(shift)) / b.mantissa, a.exponent - b.exponent - shift)
}

/** Square root of a number that is not negative. */
export function root(a: Real): Real {
  if (isZero(a)) return zero
  const extra = 2 * precision - bitsOf(a.mantissa)
  const shift = extra + ((a.exponent - extra) % 2 === 0 ? 0 : 1)
  return rounded(wholeRoot(a.mantissa << BigInt(Math.max(0, shift))), (a.exponent - shift) / 2)
}

function wholeRoot(value: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(bitsOf(value) / 2) + 1)
  for (;;) {
    const next = (guess + value / guess) >> 1n
    if (next >= guess) return guess
    guess = next
  }
}

/* Functions, in fixed point: whole numbers that count units of 2^−320. */

const fixedBits = 320
const unit = 1n << BigInt(fixedBits)

function fixed({ mantissa, exponent }: Real): bigint {
  const shift = exponent + fixedBits
  if (shift > 64 * precision) throw new Incomputable()
  return shift >= 0 ? mantissa << BigInt(shift) : mantissa >> BigInt(-shift)
}

const floating = (value: bigint): Real =>
  bitsOf(value) < fixedBits - noise ? zero : rounded(value, -fixedBits)

/** Sums terms until they vanish; `next` makes the one behind a term. */
function series(first: bigint, next: (term: bigint, k: bigint) => bigint): bigint {
  let [total, term] = [0n, first]
  for (let k = 1n; term !== 0n; k++) {
    total += term
    term = next(term, k)
  }
  return total
}

/** Arc tangent of the reciprocal of a whole number, or of a small fixed-point number. */
function arcTangentSeries(value: bigint, sign: 1n | -1n): bigint {
  const square = (value * value) >> BigInt(fixedBits)
  let [total, odd] = [0n, value]
  for (let k = 1n; odd !== 0n; k += 2n) {
    total += odd / k
    odd = (sign * odd * square) / unit
  }
  return total
}

const fixedPi = 16n * arcTangentSeries(unit / 5n, -1n) - 4n * arcTangentSeries(unit / 239n, -1n)
const fixedLn2 = 2n * arcTangentSeries(unit / 3n, 1n)

export const pi: Real = rounded(fixedPi, -fixedBits)

export function exponential(a: Real): Real {
  if (scaleOf(a) > 20) throw new Incomputable()
  const value = fixed(a)
  const doublings = (value + (fixedLn2 >> 1n)) / fixedLn2
  const rest = (value - doublings * fixedLn2) >> 8n
  let result = series(unit, (term, k) => (term * rest) / unit / k)
  for (let k = 0; k < 8; k++) result = (result * result) >> BigInt(fixedBits)
  return rounded(result, Number(doublings) - fixedBits)
}

/** Natural logarithm of a number above 0. */
export function naturalLogarithm(a: Real): Real {
  const bits = bitsOf(a.mantissa)
  const between = fixed({ mantissa: a.mantissa, exponent: -bits })
  const ratio = ((between - unit) << BigInt(fixedBits)) / (between + unit)
  return floating(2n * arcTangentSeries(ratio, 1n) + BigInt(a.exponent + bits) * fixedLn2)
}

export function cosineAndSine(a: Real): readonly [cosine: Real, sine: Real] {
  if (scaleOf(a) > 64) throw new Incomputable()
  const turn = 2n * fixedPi
  const rest = (((fixed(a) % turn) + turn) % turn) >> 8n
  const square = (rest * rest) >> BigInt(fixedBits)
  const next = (offset: bigint) => (term: bigint, k: bigint) =>
    -(term * square) / unit / ((2n * k + offset) * (2n * k + offset - 1n))
  let [cosine, sine] = [series(unit, next(0n)), series(rest, next(1n))]
  for (let k = 0; k < 8; k++)
    [cosine, sine] = [
      (cosine * cosine - sine * sine) >> BigInt(fixedBits),
      (2n * cosine * sine) >> BigInt(fixedBits),
    ]
  return [floating(cosine), floating(sine)]
}

/** The angle of the point (x, y), from −π to π. */
export function angle(y: Real, x: Real): Real {
  if (isZero(y)) return isNegative(x) ? pi : zero
  if (isZero(x)) return times(isNegative(y) ? negative(one) : one, times(pi, { mantissa: 1n, exponent: -1 }))
  let ratio = fixed(dividedBy(y, x))
  for (let k = 0; k < 4; k++) {
    const length = wholeRoot(unit * unit + ratio * ratio)
    ratio = (ratio << BigInt(fixedBits)) / (unit + length)
  }
  const principal = floating(16n * arcTangentSeries(ratio, -1n))
  if (!isNegative(x)) return principal
  return plainSum(principal, isNegative(y) ? negative(pi) : pi)
}

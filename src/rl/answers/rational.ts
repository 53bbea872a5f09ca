/** Exact fractions of whole numbers of any length, as written numbers are compared. */

/** Fraction in lowest terms; `below` is at least 1. */
export interface Rational {
  readonly above: bigint
  readonly below: bigint
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [absolute(a), absolute(b)]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

/** The fraction in lowest terms; null for a denominator of 0. */
export function fraction(above: bigint, below = 1n): Rational | null {
  if (below === 0n) return null
  const divisor = greatestDivisor(above, below) * (below < 0n ? -1n : 1n)
  return { above: above / divisor, below: below / divisor }
}

export const whole = (value: bigint): Rational => ({ above: value, below: 1n })
export const isWhole = ({ below }: Rational): boolean => below === 1n
export const negated = ({ above, below }: Rational): Rational => ({ above: -above, below })
export const size = ({ above, below }: Rational): Rational => ({ above: absolute(above), below })

export const sum = (a: Rational, b: Rational): Rational =>
  fraction(a.above * b.below + b.above * a.below, a.below * b.below)!
export const product = (a: Rational, b: Rational): Rational => fraction(a.above * b.above, a.below * b.below)!
export const quotient = (a: Rational, b: Rational): Rational | null =>
  fraction(a.above * b.below, a.below * b.above)

/** Returns a number below, at or above 0 as `a` is less than, equal to or more than `b`. */
export function order(a: Rational, b: Rational): number {
  const difference = a.above * b.below - b.above * a.below
  return difference < 0n ? -1 : Number(difference > 0n)
}

export const isSame = (a: Rational, b: Rational): boolean => order(a, b) === 0

/** 10 to the power of a whole number. */
export const powerOfTen = (exponent: number): Rational =>
  exponent < 0 ? { above: 1n, below: 10n ** BigInt(-exponent) } : whole(10n ** BigInt(exponent))

export const isRecurring = (digits: string): boolean => digits.includes('\u0305')

/** Digits that stand for the same number of decimals are read exactly: “12”, “.5”, “1.50e-3”, “0.3̅”. */
export function decimal(text: string): Rational {
  if (isRecurring(text)) return recurring(text)
  const [digits = '', exponent = '0'] = text.toLowerCase().split('e')
  const [before = '', after = ''] = digits.split('.')
  const mantissa = BigInt(`${before}${after}`.replace('-', '') || '0')
  const unsigned = product(whole(mantissa), powerOfTen(Number(exponent) - after.length))
  return digits.startsWith('-') ? negated(unsigned) : unsigned
}

/** Returns the value of recurring digits: a fraction of 9, 99, … behind the digits that do not recur. */
function recurring(text: string): Rational {
  const start = text.search(/\d\u0305/)
  const [fixed, block] = [text.slice(0, start), text.slice(start).replaceAll('\u0305', '')]
  const after = fixed.split('.')[1]?.length ?? 0
  const part = fraction(BigInt(block), 10n ** BigInt(after) * (10n ** BigInt(block.length) - 1n))!
  return sum(decimal(fixed), part)
}

/** A number as written, with what its digits and a tolerance leave open. */
export interface Written {
  readonly value: Rational
  /** One unit in the last place of a decimal or of a number with an exponent; null where the number is exact. */
  readonly place: Rational | null
}

/** Tolerances up to this one forgive rounding only. */
const roundingOnly = 1e-6

/**
 * Returns true if two written numbers mean the same. Whole numbers and fractions do where they are equal. A decimal may
 * differ by `tolerance`, relative to the larger of the two; up to 10⁻⁶ this forgives rounding only: the difference must
 * also be less than one unit in the last place of the decimal with fewer of them.
 */
export function isNear(a: Written, b: Written, tolerance: number): boolean {
  if (isSame(a.value, b.value)) return true
  const places = [a.place, b.place].filter((place) => place !== null)
  const [first, second = first] = places
  if (first === undefined || second === undefined) return false
  const difference = size(sum(a.value, negated(b.value)))
  const [x, y] = [size(a.value), size(b.value)]
  const reach = product(decimal(String(tolerance)), order(x, y) < 0 ? y : x)
  if (order(difference, reach) > 0) return false
  return tolerance > roundingOnly || order(difference, order(first, second) < 0 ? second : first) < 0
}

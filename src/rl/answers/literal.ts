/** Answers that are written down rather than computed: numbers, lists of them, ratios, dates and times. */
import { isNear, order, powerOfTen, product, size, whole, type Rational, type Written } from './rational.ts'

export interface WrittenNumber extends Written {
  readonly kind: 'number'
  readonly isPercentage: boolean
  /** Known unit; null if none is written. */
  readonly unit: string | null
}

export interface WrittenList {
  readonly kind: 'list'
  /** Empty for values with commas between and nothing around them. */
  readonly brackets: '' | '()' | '[]' | '{}'
  readonly items: readonly WrittenNumber[]
}

export interface WrittenRatio {
  readonly kind: 'ratio'
  readonly parts: readonly bigint[]
}

export interface WrittenDate {
  readonly kind: 'date'
  readonly month: number
  readonly day: number
  readonly year: number | null
}

export interface WrittenTime {
  readonly kind: 'time'
  readonly seconds: number
}

export type Literal = WrittenNumber | WrittenList | WrittenRatio | WrittenDate | WrittenTime

/** Whether `found` says what `expected` says. Lists keep their order but in braces. */
export function isSameLiteral(expected: Literal, found: Literal, tolerance: number): boolean {
  if (expected.kind === 'number') return found.kind === 'number' && isSameNumber(expected, found, tolerance)
  if (expected.kind === 'list') return found.kind === 'list' && isSameList(expected, found, tolerance)
  if (expected.kind === 'ratio') return found.kind === 'ratio' && isSameRatio(expected, found)
  if (expected.kind === 'time') return found.kind === 'time' && found.seconds === expected.seconds
  return found.kind === 'date' && isSameDate(expected, found)
}

const hundredth: Rational = { above: 1n, below: 100n }

function isSameNumber(a: WrittenNumber, b: WrittenNumber, tolerance: number): boolean {
  if (a.unit !== null && b.unit !== null && a.unit !== b.unit) return false
  if (a.isPercentage === b.isPercentage) return isNear(a, b, tolerance)
  const [share, plain] = a.isPercentage ? [a, b] : [b, a]
  if (plain.unit !== null) return false
  return isNear(asShare(share), plain, tolerance) || (isUnsigned(plain) && isNear(share, plain, tolerance))
}

/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
const isUnsigned = ({ value }: WrittenNumber): boolean => order(size(value), whole(1n)) > 0

const asShare = ({ value, place }: Written): Written => ({
  value: product(value, hundredth),
  place: place && product(place, hundredth),
})

function isSameList(a: WrittenList, b: WrittenList, tolerance: number): boolean {
  if (a.items.length !== b.items.length) return false
  if (a.brackets !== b.brackets && a.brackets !== '' && b.brackets !== '') return false
  if (a.brackets !== '{}') return a.items.every((item, i) => isSameNumber(item, b.items[i]!, tolerance))
  const left = [...b.items]
  return a.items.every((item) => {
    const at = left.findIndex((other) => isSameNumber(item, other, tolerance))
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}

/** 6 : 2 is 3 : 1. */
function isSameRatio(a: WrittenRatio, b: WrittenRatio): boolean {
  const [first, other] = [a.parts[0]!, b.parts[0]!]
  return a.parts.length === b.parts.length && a.parts.every((part, i) => part * other === b.parts[i]! * first)
}

const isSameDate = (a: WrittenDate, b: WrittenDate): boolean =>
  a.month === b.month && a.day === b.day && a.year === b.year

/** A number as its digits say. `place` is that of its last digit, of a decimal or beside an exponent. */
export function writtenNumber(value: Rational, place: Rational | null): WrittenNumber {
  return { kind: 'number', value, place, isPercentage: false, unit: null }
}

/** The place of the last digit of a decimal; null for a whole number. */
export function placeOf(digits: string): Rational | null {
  const [mantissa = '', exponent] = digits.toLowerCase().split('e')
  const after = mantissa.split('.')[1]?.length ?? 0
  return after === 0 && exponent === undefined ? null : powerOfTen(Number(exponent ?? 0) - after)
}

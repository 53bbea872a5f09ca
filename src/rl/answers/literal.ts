/** Answers that are written down rather than computed: numbers, lists of them, ratios, dates and times. */
import type { Unit } from './unitTable.ts'
import { conversion } from './units.ts'
import {
  isNear,
  isRecurring,
  isWhole,
  order,
  powerOfTen,
  product,
  size,
  whole,
  type Rational,
  type Written,
} from './rational.ts'

export interface WrittenNumber extends Written {
  readonly kind: 'number'
  readonly isPercentage: boolean
  /** Known unit; null if none is written. */
  readonly unit: Unit | null
}

export interface WrittenList {
  readonly kind: 'list'
  /** Empty for values with commas between and nothing around them. */
  readonly brackets: '' | '()' | '[]' | '{}'
  readonly items: readonly WrittenNumber[]
  /** What 3,5 is where its comma is the decimal point; null where it cannot be. */
  readonly decimal: WrittenNumber | null
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
  const [a, b] = withDecimals(expected, found)
  if (a.kind === 'number') return b.kind === 'number' && isSameNumber(a, b, tolerance)
  if (a.kind === 'list') return b.kind === 'list' && isSameList(a, b, tolerance)
  if (a.kind === 'ratio') return b.kind === 'ratio' && isSameRatio(a, b)
  if (a.kind === 'time') return b.kind === 'time' && b.seconds === a.seconds
  return b.kind === 'date' && isSameDate(a, b)
}

/** 3,5 is 3.5 beside a number that is not whole, else a list. */
function withDecimals(a: Literal, b: Literal): readonly [Literal, Literal] {
  const own = a.kind === 'list' && b.kind === 'number' && isPart(b) ? (a.decimal ?? a) : a
  const other = b.kind === 'list' && a.kind === 'number' && isPart(a) ? (b.decimal ?? b) : b
  return [own, other]
}

/** A decimal, or a fraction that is not whole. */
const isPart = ({ value, place }: Written): boolean => place !== null || !isWhole(value)

const hundredth: Rational = { above: 1n, below: 100n }

function isSameNumber(a: WrittenNumber, b: WrittenNumber, tolerance: number): boolean {
  const factor = conversion(a.unit, b.unit)
  if (factor === null) return false
  if (a.isPercentage === b.isPercentage) return isNear(times(a, factor), b, tolerance)
  const [share, plain] = a.isPercentage ? [a, b] : [b, a]
  if (plain.unit !== null) return false
  return (
    isNear(times(share, hundredth), plain, tolerance) ||
    (isUnsigned(plain) && isNear(share, plain, tolerance))
  )
}

/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
const isUnsigned = ({ value }: WrittenNumber): boolean => order(size(value), whole(1n)) > 0

const times = ({ value, place }: Written, factor: Rational): Written => ({
  value: product(value, factor),
  place: place && product(place, factor),
})

function isSameList(a: WrittenList, b: WrittenList, tolerance: number): boolean {
  if (a.items.length !== b.items.length) return false
  // As a list 3,05 would be 3,5, too.
  if (a.decimal !== null && b.decimal !== null && !isSameNumber(a.decimal, b.decimal, tolerance)) return false
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

/** The place of the last digit of a decimal; null for a whole number and for one whose digits recur. */
export function placeOf(digits: string): Rational | null {
  if (isRecurring(digits)) return null
  const [mantissa = '', exponent] = digits.toLowerCase().split('e')
  const after = mantissa.split('.')[1]?.length ?? 0
  return after === 0 && exponent === undefined ? null : powerOfTen(Number(exponent ?? 0) - after)
}

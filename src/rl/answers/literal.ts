/** Written answers, which need no computation: numbers, lists of them, ratios, dates and times. */
import type { Unit } from './unitTable.ts'
import { conversion, isOtherThing, wordsOf } from './units.ts'
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
  /** The letter that it is the value of, as in x = 5. */
  readonly name?: string | null
  /** True for an ordinal such as 5th. */
  readonly isOrdinal?: boolean
  /** Text behind the number, where the completion is nothing else. */
  readonly words?: string
}

export interface WrittenList {
  readonly kind: 'list'
  /** Brackets around the values; empty for values with commas between and nothing around them. */
  readonly brackets: '' | '()' | '[]' | '{}'
  readonly items: readonly WrittenNumber[]
  /** Value of 3,5 with its comma read as the decimal point; null where it cannot be one. */
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
  /** True if am or pm stands behind it; 1:30 alone may be a minute and a half. */
  readonly isOfDay: boolean
  readonly hasSeconds: boolean
}

export type Literal = WrittenNumber | WrittenList | WrittenRatio | WrittenDate | WrittenTime

/** Returns true if `found` says what `expected` says. Lists keep their order, except in braces. */
export function isSameLiteral(expected: Literal, found: Literal, tolerance: number): boolean {
  const [a, b] = withDecimals(expected, found)
  if (a.kind === 'number') return b.kind === 'number' && isSameNumber(a, b, tolerance)
  if (a.kind === 'list') return b.kind === 'list' && isSameList(a, b, tolerance)
  if (a.kind === 'ratio') return b.kind === 'ratio' && isSameRatio(a, b)
  if (a.kind === 'time') return b.kind === 'time' && isSameTime(a, b)
  return b.kind === 'date' && isSameDate(a, b)
}

/** Reads both sides alike: 3,5 is 3.5 beside a number that is not whole, else a list. */
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
  if (factor === null || isOfOther(a, b)) return false
  if (a.isPercentage === b.isPercentage) return isNear(times(a, factor), b, tolerance)
  const [share, plain] = a.isPercentage ? [a, b] : [b, a]
  if (plain.unit !== null) return false
  return (
    isNear(times(share, hundredth), plain, tolerance) ||
    (isUnsigned(plain) && isNear(share, plain, tolerance))
  )
}

/** Returns true if two numbers describe different things: 5 cups and 5 teaspoons, x = 5 and y = 5, 5 and 5th. */
function isOfOther(expected: WrittenNumber, found: WrittenNumber): boolean {
  const [own, other] = [expected.name ?? null, found.name ?? null]
  if (own !== null && other !== null && own !== other) return true
  if (found.isOrdinal === true && expected.isOrdinal !== true) return true
  return isOtherThing(expected.words ?? '', found.words ?? '')
}

/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
const isUnsigned = ({ value }: WrittenNumber): boolean => order(size(value), whole(1n)) > 0

const times = ({ value, place }: Written, factor: Rational): Written => ({
  value: product(value, factor),
  place: place && product(place, factor),
})

const areAlike = (a: string, b: string): boolean => a === b || a === '' || b === ''

function isSameList(a: WrittenList, b: WrittenList, tolerance: number): boolean {
  if (a.items.length !== b.items.length) return false
  // 3,05 as a list would be 3,5, too.
  if (a.decimal !== null && b.decimal !== null && !isSameNumber(a.decimal, b.decimal, tolerance)) return false
  if (!areAlike(a.brackets, b.brackets)) return false
  const isSame = (x: WrittenNumber, y: WrittenNumber | undefined) =>
    y !== undefined && isSameNumber(x, y, tolerance)
  const [own, other] = [namesIn(a), namesIn(b)]
  if (own !== null && other !== null)
    return a.items.every((item, i) => isSame(item, b.items[other.indexOf(own[i]!)]))
  return a.brackets === '{}'
    ? isSameInAnyOrder(a.items, b.items, isSame)
    : a.items.every((item, i) => isSame(item, b.items[i]))
}

function isSameInAnyOrder<T>(a: readonly T[], b: readonly T[], isSame: (x: T, y: T) => boolean): boolean {
  const left = [...b]
  return a.every((item) => {
    const at = left.findIndex((other) => isSame(item, other))
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}

/**
 * Returns the names of what the numbers of a list count, where each has a name of its own, as in “5 red balls, 3 blue
 * balls”: words that all of them share name none. Such a list says the same in any order.
 */
export function namesIn({ brackets, items }: WrittenList): readonly string[] | null {
  if (brackets === '()' || brackets === '[]') return null
  const words = items.map((item) => wordsOf(item.words ?? ''))
  const names = words.map((own) =>
    own
      .filter((word) => !words.every((each) => each.includes(word)))
      .toSorted()
      .join(' '),
  )
  return names.every((name) => name !== '') && new Set(names).size === names.length ? names : null
}

/** 6 : 2 is 3 : 1. */
function isSameRatio(a: WrittenRatio, b: WrittenRatio): boolean {
  const [first, other] = [a.parts[0]!, b.parts[0]!]
  return a.parts.length === b.parts.length && a.parts.every((part, i) => part * other === b.parts[i]! * first)
}

const isSameTime = (a: WrittenTime, b: WrittenTime): boolean =>
  a.seconds === b.seconds && (a.hasSeconds === b.hasSeconds || a.isOfDay || b.isOfDay)

const isSameDate = (a: WrittenDate, b: WrittenDate): boolean =>
  a.month === b.month && a.day === b.day && a.year === b.year

/** Returns a number as its digits say. `place` is that of its last digit, of a decimal or with an exponent. */
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

/** Finds the written answer of a completion, of the kind that the expected one is. */
import type { Literal, WrittenNumber } from './literal.ts'
import {
  isDecade,
  isOrdinal,
  nameBefore,
  numberOf,
  numberSource,
  plainMath,
  readLiteral,
} from './readLiteral.ts'
import { multiplierOf, suffixOf } from './magnitudes.ts'
import { product } from './rational.ts'
import { isBare } from './surroundings.ts'
import { readUnit, unitBehind, unitOf } from './units.ts'
import { isHedged, statedAnswer, withoutLabels } from './statedAnswer.ts'

/** The answer in a data set's column: what its marker holds, else the column's whole text. */
export function expectedLiteral(text: string): Literal | null {
  const { text: stated, kind } = statedAnswer(text, (line) => readLiteral(line) !== null)
  return readLiteral(stated) ?? (kind === 'said' ? firstOf(stated, 'number') : null)
}

/** The answer of a completion; null where none is found. */
export function statedLiteral(completion: string, expected: Literal): Literal | null {
  const { text, kind } = statedAnswer(completion, (line) => readLiteral(line) !== null)
  const whole = readLiteral(text)
  if (whole !== null) return whole
  if (kind !== 'unmarked' && isHedged(text)) return null
  if (isFactorial(text)) return null
  return kind === 'marked' ? onlyNumber(withPoints(text, expected)) : literalIn(text, kind, expected)
}

/** Returns the only number of a box; of several numbers none is the answer. */
const onlyNumber = (text: string): WrittenNumber | null =>
  numbersOf(plainMath(text)).length === 1 ? lastNumber(text) : null

function literalIn(text: string, kind: 'said' | 'unmarked', expected: Literal): Literal | null {
  const pointed = withPoints(text, expected)
  const found = kind === 'said' ? firstOf(pointed, expected.kind) : lastOf(withoutLabels(pointed), expected)
  return found ?? (mayBeDecimal(expected) ? lastNumber(withoutLabels(text)) : null)
}

const withPoints = (text: string, expected: Literal): string =>
  isDecimal(expected) ? text.replace(decimalComma, '.') : text

/** “7!” alone; at the end of a sentence it is 7. */
const isFactorial = (text: string): boolean => /^[^\p{L}]*\d\s*!$/u.test(text)

const isDecimal = (expected: Literal): boolean => expected.kind === 'number' && expected.place !== null
const mayBeDecimal = (expected: Literal): boolean => expected.kind === 'list' && expected.decimal !== null

/** A comma that cannot hold groups of three digits apart. */
const decimalComma = /(?<=(?<![\d.,])\d{1,15}),(?=(?:\d{1,2}|\d{4,15})(?![\d.,]))/g

type Kind = Literal['kind']

/** Patterns of the other kinds in running text. */
const shapes: Readonly<Record<Exclude<Kind, 'number'>, RegExp>> = {
  list: /[([{][^()[\]{}]{1,400}[)\]}]|(?<![\d.])-?[\d.]{1,40}(?:(?:, ?| and |, and )-?[\d.]{1,40})+/g,
  ratio: /(?<![\d:])\d{1,9}(?:\s?:\s?\d{1,9})+/g,
  time: /\d{1,2}(?::\d\d){0,2}\s?[ap]\.?m\b\.?|\d{1,2}(?::\d\d){1,2}/gi,
  date: /\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|(?:\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?)?[A-Z][a-z]{2,8}\.?(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? \d{4})?/g,
}

const candidates = (text: string, kind: Exclude<Kind, 'number'>): Literal[] =>
  [...plainMath(text).matchAll(shapes[kind])].flatMap(([found]) => {
    const read = readLiteral(found)
    return read?.kind === kind ? [read] : []
  })

function firstOf(text: string, kind: Kind): Literal | null {
  if (kind !== 'number') return candidates(text, kind)[0] ?? null
  const plain = plainMath(text)
  const first = numbersOf(plain)[0]
  return first === undefined ? null : bareNumber(plain, first)
}

/**
 * Returns the text of the last number, or the first, with its unit; null where there is none, or it is part of
 * something else.
 */
export function numberIn(text: string, which: 'first' | 'last'): string | null {
  const plain = plainMath(text)
  const found = numbersOf(plain).at(which === 'first' ? 0 : -1)
  if (found === undefined || bareNumber(plain, found) === null) return null
  const behind = plain.slice(found.index + found[0].length, found.index + 60)
  const { rest } = multiplierOf(behind)
  const scaled = `${found[0]}${behind.slice(0, behind.length - rest.length)}`
  if (isOrdinal(behind)) return `${found[0]}th`
  if (suffixOf(rest) !== null) return `${scaled}${rest.charAt(0)}`
  const unit = found[2] === '' ? readUnit(rest) : null
  return unit === null ? scaled : `${scaled} ${unit.text}`
}

function lastOf(text: string, expected: Literal): Literal | null {
  const { kind } = expected
  return kind === 'number' ? lastNumber(text) : (candidates(text, kind).at(-1) ?? null)
}

/** A sign counts only where nothing stands before it that it could be subtracted from. */
const numbers = new RegExp(
  String.raw`(?<![\p{L}\p{N}_.,]|\d[eE][-+])(?:(?<=[\p{L}\p{N}_)\]}]\s{0,3})(?=[$€£¥₹\d.])|(?<![\p{L}\p{N}_)\]}]\s{0,3})|(?<=\b(?:is|are|was|were|be|equals|gets?|gives?|becomes)\s{1,3})(?=-))${numberSource}`,
  'gu',
)

const numbersOf = (text: string): RegExpExecArray[] => [...text.matchAll(numbers)]

/** The last number of a text, with its unit; null where it is part of something else, such as a sum or a root. */
function lastNumber(text: string): WrittenNumber | null {
  const plain = plainMath(text)
  const last = numbersOf(plain).at(-1)
  return last === undefined ? null : bareNumber(plain, last)
}

/** The number with its unit; null where it is part of something else. */
function bareNumber(text: string, found: RegExpExecArray): WrittenNumber | null {
  const before = text.slice(Math.max(0, found.index - 40), found.index)
  const after = text.slice(found.index + found[0].length, found.index + found[0].length + 40)
  const isListed = /^\s*[)\]}]/.test(after) && /[([{][^)\]}]*,\s*$/.test(before)
  if (isListed || !isBare(before, after) || isDecade(found[3]!, after)) return null
  const { factor, rest } = multiplierOf(after)
  const number = numberOf(found)
  const unit = found[2] ? unitOf(found[2]) : unitBehind(rest)
  const of = { name: nameBefore(before), isOrdinal: isOrdinal(after) }
  return number && { ...number, ...of, value: product(number.value, factor), unit }
}

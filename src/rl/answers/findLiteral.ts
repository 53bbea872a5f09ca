/** Finds the written answer of a completion, of the kind that the expected one is. */
import type { Literal, WrittenNumber } from './literal.ts'
import { numberOf, numberSource, plainMath, readLiteral } from './readLiteral.ts'
import { readUnit, unitOf } from './units.ts'
import { isHedged, statedAnswer } from './statedAnswer.ts'

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
  const pointed = isDecimal(expected) ? text.replace(decimalComma, '.') : text
  if (kind === 'marked') return lastNumber(pointed)
  const found = kind === 'said' ? firstOf(pointed, expected.kind) : lastOf(pointed, expected)
  return found ?? (mayBeDecimal(expected) ? lastNumber(text) : null)
}

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

/** The text of the last number, or the first, with its unit; null where there is none, or it is part of something else. */
export function numberIn(text: string, which: 'first' | 'last'): string | null {
  const plain = plainMath(text)
  const found = numbersOf(plain).at(which === 'first' ? 0 : -1)
  if (found === undefined || bareNumber(plain, found) === null) return null
  const unit = found[2] === '' ? readUnit(plain.slice(found.index + found[0].length, found.index + 60)) : null
  return unit === null ? found[0] : `${found[0]} ${unit.text}`
}

function lastOf(text: string, expected: Literal): Literal | null {
  const { kind } = expected
  return kind === 'number' ? lastNumber(text) : (candidates(text, kind).at(-1) ?? null)
}

/** A sign counts only where nothing stands before it that it could be subtracted from. */
const numbers = new RegExp(
  String.raw`(?<![\p{L}\p{N}_.,]|\d[eE][-+])(?:(?<=[\p{L}\p{N}_)\]}]\s{0,3})(?=[$€£¥₹\d.])|(?<![\p{L}\p{N}_)\]}]\s{0,3}))${numberSource}`,
  'gu',
)

const numbersOf = (text: string): RegExpExecArray[] => [...text.matchAll(numbers)]

/** The last number of a text, with its unit; null where it is part of something else, such as a sum or a root. */
function lastNumber(text: string): WrittenNumber | null {
  const plain = plainMath(text)
  const last = numbersOf(plain).at(-1)
  return last === undefined ? null : bareNumber(plain, last)
}

const computesBefore =
  /[\p{L}\p{N})\]}]\s*[-+*/^×·÷<>]\s*$|\d\s*:\s*$|[\^_√]\{?$|\\(?!text|mathrm)[a-zA-Z]+\s*\{?$|\b(?:not|never|isn['’]t|wasn['’]t|can['’]t be|cannot be|(?:could|might|may) be|less than|more than|greater than|at most|at least|between|either)\s*$|\d\s*,\s*$/iu
const computesAfter =
  /^\(|^\s*(?:[+*×·÷^/√<>]|\(\s*(?:[-\d\\]|\p{L}\s*[-+*/^)\d])|-\s*(?:[\d(\\]|\p{L}(?!\p{L}))|\\(?!%|\$|\\|\)|\]|[,;!]|text|mathrm|quad|right|end)|!\s*[/*+-]|:\d|,\d|\.\d)/u

/** The number with its unit; null where it is part of something else. */
function bareNumber(text: string, found: RegExpExecArray): WrittenNumber | null {
  const before = text.slice(Math.max(0, found.index - 40), found.index)
  const after = text.slice(found.index + found[0].length, found.index + found[0].length + 40)
  const isListed = /^\s*[)\]}]/.test(after) && /[([{][^)\]}]*,\s*$/.test(before)
  if (isListed || computesBefore.test(before) || computesAfter.test(after) || isFactor(after)) return null
  const number = numberOf(found)
  return number && { ...number, unit: unitOf(found[2] || after) }
}

/** 2x is no number, 2m is one. */
function isFactor(after: string): boolean {
  const letter = /^([\p{L}_])(?![\p{L}_])|^ ([\p{L}])(?=\s*(?:[-+*/^=]|$))/u.exec(after)
  return letter !== null && unitOf(letter[0]) === null
}

/** Reads a mathematical answer out of text, and compares two of them. */
import { expectedLiteral, numberIn, statedLiteral } from './findLiteral.ts'
import { isSameLiteral, namesIn, type Literal } from './literal.ts'
import { multiplierOf } from './magnitudes.ts'
import { parseMath, type ParsedMath } from './parseMath.ts'
import { isSame, whole, type Rational } from './rational.ts'
import { inUnit, isSameMath } from './sameMath.ts'
import { isChanging, isOrdinal, readLiteral } from './readLiteral.ts'
import { isHedged, statedAnswer, withoutLabels } from './statedAnswer.ts'
import { isChanged } from './surroundings.ts'
import { conversion, isOtherThing, measureBehind, unitOf } from './units.ts'
import type { Unit } from './unitTable.ts'

export interface MathAnswer {
  /** The answer as written, without spaces and marks that change only its look. */
  readonly text: string
  /** The same of the whole text that states it. */
  readonly whole: string
  /** null where it is words or mathematics that is not known. */
  readonly math: ParsedMath | null
  /** The same where letters behind numbers are variables: 12m is 12 times m, too. */
  readonly product: ParsedMath | null
  /** True if it only bounds or denies what it names. */
  readonly isHedged: boolean
  /** The answer as a number, where it is one: how that is written differs more than mathematics does. */
  readonly literal: Literal | null
}

/** null for a column that holds neither mathematics nor a few words. */
export function expectedMath(text: string): MathAnswer | null {
  const answer = { ...readAnswer(text), literal: expectedLiteral(text) }
  if (isScientific(answer)) return { ...answer, ...unread }
  if (answer.literal !== null) return answer
  if (isNumeral(answer.text)) return { ...answer, ...unread }
  if (isOnlyWritten(answer.whole, text)) return { ...answer, ...unread, text: answer.whole }
  if (isOfSeveralNumbers(text)) return null
  const isWords = answer.math === null || answer.math.tree.kind === 'symbol'
  return !isWords || isShortPhrase(answer.text) || answer.text.startsWith('\\') ? answer : null
}

const unread = { math: null, product: null }

/** 1e-3 and nothing else but a unit is a thousandth, and no multiple of Euler’s number. */
const isScientific = ({ text, literal }: MathAnswer): boolean =>
  literal?.kind === 'number' && /(?:^|=)[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d{1,3}(?![\d.])/.test(text)

/** IV is not VI; as products of variables they would be the same. */
const isNumeral = (text: string): boolean => /^(?:I[VX]|[VX]I|X[LC]|[LC]X|C[DM]|[DM]C)$/.test(text)

/** “May 2024”, “Room 5” and “7 remainder 3” are compared as they are: a number in them is not the answer. */
const isOnlyWritten = (whole: string, text: string): boolean =>
  spansOf(text).length === 0 &&
  !/[\\=]/.test(text) &&
  !isRead(whole) &&
  /\d/.test(whole) &&
  whole.length <= 60 &&
  whole.split(' ').length <= 4

/**
 * Returns true for “3 hours 20 minutes” and the like: such a text is not a number, and its last one is not the answer.
 */
const isOfSeveralNumbers = (text: string): boolean =>
  spansOf(text).length === 0 && !isRead(text) && /\d[^\d]*\p{L}{2}[^\d]*\d/u.test(text) && !/[\\=]/.test(text)

/**
 * Returns true for short phrases such as “odd” or “Tuesday”, which are compared as they are; a sentence could be put in
 * another way.
 */
const isShortPhrase = (text: string): boolean =>
  /^[\p{L}\p{M}'’ ()-]{1,60}$/u.test(text) && text.split(' ').length <= 4

function readAnswer(text: string): MathAnswer {
  const { text: stated, kind } = statedAnswer(repaired(text), (line) => parseMath(line) !== null)
  const hedged = kind !== 'unmarked' && isHedged(stated)
  const own =
    kind === 'marked' ? stated : kind === 'said' ? saidMath(stated) : lastMath(withoutLabels(stated))
  return {
    ...answerOf(own),
    isHedged: hedged,
    literal: readLiteral(own),
    whole: writtenAlike(withoutStop(stated)),
  }
}

/** LaTeX out of JSON that was escaped twice. */
const repaired = (text: string): string =>
  text.includes('\\begin') ? text : text.replace(/\\\\(?=[a-zA-Z(){}[\],;!%$])/g, '\\')

const spans = /\$\$[^$]+\$\$|\$(?:\\\$|[^$\n])+\$|\\\((?:(?!\\[()]).)+\\\)|\\\[(?:(?!\\[[\]])[^])+\\\]/g
const joins = /^[\s,;]*(?:and|or)?[\s,;]*$/

interface Span {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** Characters at the end of a completion that are searched for its answer. */
const longestTail = 6000

/** The last formula of a text, with those it belongs together with; in plain text the last number. */
function lastMath(text: string): string {
  const tail = text.slice(-longestTail)
  const found = spansOf(tail)
  const last = found.at(-1)
  if (last === undefined) return isRead(tail) ? tail : (numberIn(tail, 'last') ?? multipleOfPi(tail))
  const behind = /\d/.test(last.text) ? null : numberIn(tail.slice(last.to), 'last')
  return behind ?? together(tail, found.reverse())
}

/** “2π”, “3π/4” with nothing that computes with it on either side. */
const piTerms =
  /(?<![\p{L}\p{N}.,^_)}\]*/·×√+-]|[-+*/·×^<>≤≥]\s)(?:\d+(?:\.\d+)?(?:\/\d+)?\s?)?π(?:\/\d+)?(?![\p{L}\p{N}(^²³/]|\s*[-+*/·×^(√\d])/gu

/** The multiple of π that plain text ends in, with its unit; empty where there is none. */
function multipleOfPi(text: string): string {
  const found = [...text.matchAll(piTerms)].at(-1)
  if (found === undefined) return ''
  const [before, behind] = [text.slice(0, found.index), text.slice(found.index + found[0].length)]
  return /(?<!\^\{?)\d/.test(behind) || isChanged(before.slice(-40), behind.slice(0, 40))
    ? ''
    : `${found[0]}${measureBehind(behind)}`
}

/** The mathematics after “the answer is”, or at the end of that sentence. */
function saidMath(text: string): string {
  const found = spansOf(text)
  if (found[0]?.from === 0) return together(text, found)
  const isNumber = /^[-+$€£¥₹\s]*[\d.]/.test(text)
  return isNumber && !isRead(text) ? (numberIn(text, 'first') ?? '') : lastMath(text)
}

/** Returns true if the whole text is one value, which no word behind it changes; “it is -5” subtracts nothing. */
const isRead = (text: string): boolean =>
  (!/\b(?:is|was) -/.test(text) && parseMath(text)?.words.some(isChanging) === false) ||
  readLiteral(text) !== null

const spansOf = (text: string): Span[] =>
  [...text.matchAll(spans)].map(({ index, 0: span }) => ({
    text: span,
    from: index,
    to: index + span.length,
  }))

/** The first of `found` and its neighbours behind a comma or “and”, in the order of the text, with the percent sign or unit behind. */
function together(text: string, found: readonly Span[]): string {
  const group = found.slice(0, 1)
  for (const next of found.slice(1)) {
    const [before, after] = next.from > group.at(-1)!.from ? [group.at(-1)!, next] : [next, group.at(-1)!]
    const between = text.slice(before.to, after.from)
    if (!/,|;|and|or/.test(between) || !joins.test(between)) break
    group.push(next)
  }
  group.sort((a, b) => a.from - b.from)
  const behind = text.slice(group.at(-1)!.to)
  if (isChanged(text.slice(0, group[0]!.from).slice(-40), behind.slice(0, 40))) return ''
  const measure = measureBehind(behind)
  return `${group.map((span) => span.text).join(', ')}${measure}`
}

const withoutStop = (text: string): string => text.trim().replace(/(?<!\\)[.,;:]+$/, '')

/** Returns true for dates and times of day, which are not quotients and differences. */
const isCalendar = (text: string): boolean =>
  ['date', 'time'].includes(readLiteral(text)?.kind ?? '') ||
  /^\s*(?:\d{1,2}\/\d{1,2}\/\d{4}|\d{4}-\d{1,2}(?:-\d{1,2})?)\s*$/.test(text)

const answerOf = (text: string): Omit<MathAnswer, 'isHedged' | 'literal' | 'whole'> => {
  const trimmed = withoutStop(text)
  const [math, product] = [parseMath(trimmed), parseMath(trimmed, 'variables')]
  if (isCalendar(trimmed) || math?.words.some((words) => isChanging(words) || isOrdinal(words)))
    return { text: writtenAlike(trimmed), ...unread }
  // The comma of 3,5 cm and 1.234,56 is a decimal one.
  const value = trimmed.replace(/^[^,=]*=/, '')
  const isDecimal =
    math?.tree.kind === 'group' && !value.includes('=') && readLiteral(value)?.kind === 'number'
  return {
    text: writtenAlike(trimmed),
    ...(isDecimal ? unread : { math, product }),
  }
}

const looks: readonly (readonly [RegExp, string])[] = [
  [/\$|\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])|\\[()[\],;:! ]/g, ' '],
  [/\\(?:text|textbf|textit|textnormal|mbox|mathrm|mathbf|boxed)\s*\{([^{}]*)\}/g, '$1'],
  [/\\[dtc]frac/g, '\\frac'],
  [/\s+/g, ' '],
  [/(?<=[^\p{L}\d.]) | (?=[^\p{L}\d.])/gu, ''],
]

const writtenAlike = (text: string): string =>
  looks.reduce((changed, [pattern, as]) => changed.replace(pattern, as), text).trim()

/** Choices are compared without their brackets; words without their case. */
const choice = (text: string): string => {
  const bare = text.replace(/^\(\s*([a-zA-Z])\s*\)$/, '$1')
  return bare.length > 1 && /^[\p{L}\p{M}'’ -]+$/u.test(bare) ? bare.toLowerCase() : bare
}

/**
 * Returns true if `completion` says what the answer does; `tolerance` as in `isNear`, where one of them is a decimal.
 */
export function saysMath(expected: MathAnswer, completion: string, tolerance: number): boolean {
  const found = readAnswer(completion)
  if (found.isHedged && !expected.isHedged) return false
  if ([found.text, found.whole].some((text) => choice(text) === choice(expected.text))) return true
  const listed = namedLists(expected, found)
  if (listed !== null) return isSameLiteral(...listed, tolerance)
  if (isScaled(expected) || isScaled(found) || areThousands(expected, found))
    return saysNumber(expected, completion, tolerance)
  return isSameMathematics(expected, found, tolerance) ?? saysNumber(expected, completion, tolerance)
}

/** null where the mathematics of one of them is not read, or is a list. */
function isSameMathematics(expected: MathAnswer, found: MathAnswer, tolerance: number): boolean | null {
  if (areMeasured(expected, found)) return isSameLiteral(expected.literal!, found.literal!, tolerance)
  if (isOtherDecimal(expected, found, tolerance)) return false
  if ((['math', 'product'] as const).some((way) => isSameParsed(expected[way], found[way], tolerance)))
    return true
  const isUnsure = [expected.math, found.math].some((math) => math === null || math.tree.kind === 'group')
  return isUnsure || isScientific(found) ? null : false
}

/**
 * Returns both answers as lists where the expected one counts several things: mathematics does not tell which number is
 * whose.
 */
function namedLists({ literal }: MathAnswer, found: MathAnswer): readonly [Literal, Literal] | null {
  if (literal?.kind !== 'list' || namesIn(literal) === null) return null
  const list = [found.text, found.whole].map(readLiteral).find((read) => read?.kind === 'list')
  return list === undefined ? null : [literal, list]
}

/** Returns true for numbers such as 1.5 million, told by the word that mathematics takes for a unit. */
const isScaled = ({ math }: MathAnswer): boolean =>
  math !== null && !isSame(multiplierOf(math.words[0] ?? '').factor, whole(1n))

/** Returns true for 70K, a product to mathematics. */
const mayBeScaled = ({ literal }: MathAnswer): boolean =>
  literal?.kind === 'number' && literal.unit?.inBare !== undefined

/** Returns true if the answer is a number, so that 70K is none with a variable. */
const areThousands = (expected: MathAnswer, found: MathAnswer): boolean =>
  mayBeScaled(found) && expected.literal?.kind === 'number' && !hasUnit(expected)

/** Returns true if both have a unit that mathematics may not see; 2k and 2K are products. */
const areMeasured = (expected: MathAnswer, found: MathAnswer): boolean =>
  hasUnit(expected) && hasUnit(found) && !(mayBeScaled(expected) && mayBeScaled(found))

/** Mathematics ignores the sign of a currency before its number. */
const hasUnit = ({ literal }: MathAnswer): boolean => literal?.kind === 'number' && literal.unit !== null

/**
 * Returns true if both are decimals with a comma and differ. As sets 5,3 would be 3,5, and 7 would be 7,7; as decimals
 * they are not.
 */
function isOtherDecimal({ literal }: MathAnswer, { text }: MathAnswer, tolerance: number): boolean {
  const found = literal?.kind === 'list' && literal.decimal !== null ? readLiteral(text) : null
  const isDecimal = found?.kind === 'number' || (found?.kind === 'list' && found.decimal !== null)
  return isDecimal && !isSameLiteral(literal!, found, tolerance)
}

function saysNumber({ literal }: MathAnswer, completion: string, tolerance: number): boolean {
  if (literal === null || literal.kind === 'ratio') return false
  if (literal.kind === 'list' && literal.decimal === null) return false
  const found = statedLiteral(completion, literal)
  if (found === null || (literal.kind === 'list' && found.kind !== 'number')) return false
  return isSameLiteral(literal, found, tolerance)
}

function isSameParsed(expected: ParsedMath | null, found: ParsedMath | null, tolerance: number): boolean {
  if (expected === null || found === null) return false
  if (isOtherThing(found.words.join(' '), expected.words.join(' '))) return false
  const factor = factorBetween(found.words, expected.words)
  if (factor === null) return false
  const tree = isSame(factor, whole(1n)) ? found.tree : inUnit(found.tree, factor)
  return tree !== null && isSameMath(expected.tree, tree, tolerance)
}

/** Returns how many units of the second answer one of the first is; null where they differ in more than that. */
function factorBetween(found: readonly string[], expected: readonly string[]): Rational | null {
  const [own, other] = [found, expected].map((words) => words.map(unitOf).filter((unit) => unit !== null))
  const factor = conversion(own![0] ?? null, other![0] ?? null)
  const isAlike = (units: readonly Unit[]): boolean =>
    units.every((unit) => {
      const one = conversion(unit, units[0]!)
      return one !== null && isSame(one, whole(1n))
    })
  if (own!.length === 0 || other!.length === 0 || (isAlike(own!) && isAlike(other!))) return factor
  const isSameRow = own!.length === other!.length && own!.every((unit, i) => isAlike([unit, other![i]!]))
  return isSameRow ? whole(1n) : null
}

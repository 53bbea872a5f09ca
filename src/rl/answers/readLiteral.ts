/** Reads a text that is one written answer and nothing else but its unit: “$1,200.00”, “x = 3/4”, “8 apples”, “12:30”. */
import { readDate, readTime } from './readDate.ts'
import { readCompound } from './readCompound.ts'
import { placeOf, writtenNumber, type Literal, type WrittenList, type WrittenNumber } from './literal.ts'
import { multiplierOf, suffixOf } from './magnitudes.ts'
import { decimal, fraction, negated, product, quotient, sum, whole, type Rational } from './rational.ts'
import { isBare, isChanged } from './surroundings.ts'
import { readUnit, unitBehind, unitOf } from './units.ts'

/** LaTeX that only changes how a number looks becomes plain text. */
const appearance: readonly (readonly [RegExp, string])[] = [
  // Dollars around mathematics are no currency.
  [/(?<![\\$\d])\$(?=\S)([^$\n]{1,400}?)(?<=[^\s\\])\$(?![\d$])/g, ' $1 '],
  [/\\(?:mathrm|mathbf|textbf|textrm|mbox|text|rm|bf)\s*\{([^{}]*)\}/g, ' $1 '],
  [/\\(?:left|right|displaystyle|mathrm|mathbf|textbf|text|rm|bf)(?![a-zA-Z])\s*/g, ' '],
  [/\\[dct]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}/g, ' $1/$2'],
  [/\\[dct]?frac\s*(\d)\s*(\d)(?!\d)/g, ' $1/$2'],
  [/(\d)\s*(?:\\times|\\cdot|[×·*x])\s*10\s*\^\s*(?:\{\s*([-+]?\d{1,3})\s*\}|([-+]?\d{1,3}))/g, '$1e$2$3'],
  [/(?<![\w.)}])10\s*\^\s*(?:\{\s*([-+]?\d{1,3})\s*\}|([-+]?\d{1,3}))/g, '1e$1$2'],
  [/\\%/g, '%'],
  [/\\\$/g, '$$'],
  [/\\\(|\\\)|\\\[|\\\]/g, ' '],
  [/\^\s*\{?\s*\\(?:circ|degree)\s*\}?|\\degree(?![a-zA-Z])/g, '°'],
  [/\\(?:,|;|!|:| |quad|qquad|ldots|dots)(?![a-zA-Z])|~/g, ' '],
  [/\\([{}])/g, '$1'],
]

/** Exponent of a unit, which is not a number of its own. */
const raised =
  /(?<=\d[\s{]{1,4}|\d(?=\p{L}{2}))((?:\p{L}{1,12}\/)?\p{L}{1,12})[\s}]*\^\s*(?:\{\s*)?([23])(?!\d)(?:\s*\})?/gu

/** Display, fractions of whole numbers and units as plain text. */
export function plainMath(text: string): string {
  const plain = appearance.reduce((changed, [pattern, as]) => changed.replace(pattern, as), text)
  return plain
    .replace(raised, (all, name: string, exponent: string) =>
      unitOf(name) === null ? all : `${name}${exponent === '2' ? '²' : '³'}`,
    )
    .replace(/\$(?!\s*[\d.])|(?<=[\d}°%)])\s*\$/g, ' ')
    .trim()
}

const digits = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|[1-9]\d{0,2}(?:\.\d{3}){2,}(?![.\d])|\d+)(?:\.\d*(?:\d\u0305)+|\.\d+)?|\.\d+`
const exponent = String.raw`(?:[eE][-+]?\d{1,3}(?![\d.]))?`
const percent = String.raw`(?:\s*(?:%|percent(?:age)?\b|pct\b))?`

/** A number as it may stand in running text, its groups: sign, currency, digits, “/ denominator”, percent. */
export const numberSource = String.raw`([-+]?)\s*([$€£¥₹]?)\s*((?:${digits})${exponent})(?:\s*\/\s*(-?\d+)|\s+(\d+)\s*\/\s*(\d+))?(${percent})`

const alone = new RegExp(`^${numberSource}(.*)$`, 's')
const spaced = /^([-+]?\d{1,3})((?: \d{3})+)(?![\d,./])/
const leading = /^(?:about|approximately|approx\.?|roughly|exactly|≈|~|\\approx)\s*/i

/** The literal; null where the text is something else. */
export function readLiteral(text: string): Literal | null {
  const plain = plainMath(text)
    .replace(leading, '')
    .replace(/[.,;]\s*$/, '')
    .trim()
  if (plain.length > 1000 || !/\d/.test(plain)) return null
  const value = lastSide(plain)
  const measured = readDate(value) ?? readTime(value) ?? readRatio(value)
  if (measured !== null) return measured
  const number = readNumber(value) ?? readCompound(value)
  const name = value === plain ? null : nameBefore(plain.slice(0, plain.indexOf('=') + 1))
  return number === null ? readList(value) : { ...number, name }
}

/** The letter whose value stands behind its = sign. */
export const nameBefore = (text: string): string | null =>
  /(?<![\p{L}\p{N}_\\]|[\p{N})\]}^+*/-]\s*|(?<!\p{L})\p{L} )(\p{L}(?:_?\d)?)\s*=\s*$/u
    .exec(text)?.[1]
    ?.replace('_', '') ?? null

/** “5th”. */
export const isOrdinal = (behind: string): boolean => /^(?:st|nd|rd|th)\b/i.test(behind)

/** “1990s”: ten years, and no number of seconds. */
export const isDecade = (digits: string, behind: string): boolean =>
  /^[12]\d\d0$/.test(digits) && /^['’]?s\b/.test(behind)

/** Takes the text after the last = of “x = 3” or “2 + 1 = 3”. */
function lastSide(text: string): string {
  const at = text.lastIndexOf('=')
  const isSeveral = /[,;]|\b(?:and|or)\b/.test(text.slice(0, at + 1).replaceAll(/\([^()]*\)|,(?=\d{3})/g, ''))
  return isSeveral || /[<>≤≥≠!]|\\[lgn]e/.test(text) ? text : text.slice(at + 1).trim()
}

function readRatio(text: string): Literal | null {
  if (!/^\d{1,9}(?:\s*:\s*\d{1,9})+$/.test(text)) return null
  return { kind: 'ratio', parts: text.split(':').map((part) => BigInt(part.trim())) }
}

/** Commas that can be decimal points: they hold no groups of three digits apart. */
const comma = /^([-+]?\s*[$€£]?\s*(?:0|\d+(?=,(?:\d{1,2}|\d{4,})(?!\d)))),(\d+)(?![\d.,])/
/** 1.234,56 has points between its groups. */
const pointed = /^([-+]?\s*[$€£]?\s*[1-9]\d{0,2}(?:\.\d{3})+),(\d+)(?![\d.,])/

/** Reads a number with its unit; null where more than a unit is beside it. A decimal comma must be certain. */
function readNumber(text: string): WrittenNumber | null {
  const joined = text.replace(spaced, (number) => number.replaceAll(' ', ''))
  const plain = joined.replace(
    pointed,
    (_, before: string, after: string) => `${before.replaceAll('.', '')}.${after}`,
  )
  const number = pointedNumber(plain)
  if (number !== null) return number
  const measured = pointedNumber(plain.replace(comma, '$1.$2'))
  return measured !== null && (measured.unit !== null || measured.isPercentage) ? measured : null
}

function pointedNumber(text: string): WrittenNumber | null {
  const found = alone.exec(text)
  if (found === null) return null
  const behind = found[8] ?? ''
  if (isDecade(found[3]!, behind)) return null
  const rest = multiplierOf(behind)
  if (readUnit(rest.rest)?.rest !== '' && !(isUnit(rest.rest) && isBare('', rest.rest))) return null
  const number = numberOf(found)
  if (number === null) return null
  return {
    ...number,
    value: product(number.value, rest.factor),
    unit: found[2] ? unitOf(found[2]) : unitBehind(rest.rest),
    words: rest.rest,
    isOrdinal: isOrdinal(behind),
  }
}

/** Words that change the value of the number, or make several of it. */
const changing =
  /(?<!\p{L})(?:is|are|was|wrong|incorrect|false|and|or|nor|plus|minus|over|to|not|if|but|of|than|below|above|remainder|rem|squared|cubed|factorial|divided|most|least|ago|later|earlier|before|after|hence|BCE?)(?!\p{L})/iu

export const isChanging = (words: string): boolean => changing.test(words) || isChanged('', ` ${words}`)

/** Returns true if a text is at most four words that compute nothing; one letter counts only as a known unit. */
function isUnit(rest: string): boolean {
  const words = rest
    .replaceAll(/[{}]/g, ' ')
    .trim()
    .replace(/^\(([^()]+)\)$/, '$1')
  if (words === '' || (words.length === 1 && suffixOf(rest) !== null)) return true
  if (!/^[\p{L}°²³€£¥₹$¢]/u.test(words) || !/^[\p{L}\p{M}°²³€£¥₹$¢.'’/ \d^-]+$/u.test(words)) return false
  const list = words.split(/\s+/)
  if (list.length > 4 || /\d/.test(words)) return false
  if (isChanging(words)) return false
  return list[0]!.replaceAll(/[^\p{Lu}\p{Ll}°]/gu, '').length !== 1 || unitOf(words) !== null
}

/** The number in a match of `numberSource`; null for a denominator of 0 or a fraction of decimals. */
export function numberOf(found: RegExpExecArray): WrittenNumber | null {
  const [, sign, , written = '', below, above, partBelow, percentSign = ''] = found
  const plain = written.split('.').length > 2 ? written.replaceAll('.', '') : written.replaceAll(',', '')
  const isFraction = below !== undefined || above !== undefined
  if (isFraction && !/^\d+$/.test(plain)) return null
  const value = withFraction(decimal(plain), below, above, partBelow)
  if (value === null) return null
  const number = writtenNumber(sign === '-' ? negated(value) : value, isFraction ? null : placeOf(plain))
  return { ...number, isPercentage: percentSign.trim() !== '' }
}

/** 3/4 is divided by `below`; 1 3/4 has `above` / `partBelow` added. */
function withFraction(own: Rational, below?: string, above?: string, partBelow?: string): Rational | null {
  if (below !== undefined) return quotient(own, whole(BigInt(below)))
  if (above === undefined || partBelow === undefined) return own
  const part = fraction(BigInt(above), BigInt(partBelow))
  return part && sum(own, part)
}

const brackets = ['()', '[]', '{}'] as const

function readList(text: string): WrittenList | null {
  const around = brackets.find(([open, close]) => text.startsWith(open!) && text.endsWith(close!)) ?? ''
  const inside = around === '' ? text : text.slice(1, -1)
  const parts = inside.split(inside.includes(';') ? /;/ : /,(?:\s*and\s)?|\s(?:and|or)\s/)
  const spacedOut = parts.length === 1 ? inside.trim().split(/\s+/) : parts
  if (spacedOut.length < 2 && around === '') return null
  const items = spacedOut.map((part) => readNumber(part.trim()))
  const decimal = around === '' && comma.test(text) ? pointedNumber(text.replace(comma, '$1.$2')) : null
  return items.every((item) => item !== null) ? { kind: 'list', brackets: around, items, decimal } : null
}

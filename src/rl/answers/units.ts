/** Reads units: values in different units are not compared by their number alone. */
import { suffixOf } from './magnitudes.ts'
import { product, quotient, whole, type Rational } from './rational.ts'
import { namedUnit, ownUnit, type Unit } from './unitTable.ts'

/** LaTeX of units as plain text: \frac{\text{m}}{\text{s}^{2}} becomes m/s^2. */
const plainUnits: readonly (readonly [RegExp, string])[] = [
  [/\\(?:text|textrm|textbf|mathrm|mathbf|operatorname|mbox|rm)(?![a-zA-Z])\s*/g, ' '],
  [/\\[dt]?frac\s*((?:\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\}))\s*(\{(?:[^{}]|\{[^{}]*\})*\})/g, '$1/$2'],
  [/\\(?:cdot|times)(?![a-zA-Z])|[⋅*]/g, '·'],
  [/\^?\s*\{?\s*\\(?:circ|degrees?)(?![a-zA-Z])\s*\}?/g, '°'],
  [/\\mu(?![a-zA-Z])\s*/g, 'μ'],
  [/\\Omega(?![a-zA-Z])/g, 'Ω'],
  [/\\[,;:! ]|~/g, ' '],
  [/²/g, '^2'],
  [/³/g, '^3'],
  [/⁻¹/g, '^-1'],
  [/⁻²/g, '^-2'],
  [/[{}]/g, ' '],
  [/\^\s*(-?)\s*(\d)/g, '^$1$2'],
  [/(?:\bdegrees?|\bdeg|°)\s*(?=celsius|fahrenheit)/gi, ''],
  [/°\s*(?=[CF](?!\p{L}))/gu, '°'],
  [/\s+/g, ' '],
]

export interface ReadUnit {
  readonly unit: Unit
  /** Unit as plain text. */
  readonly text: string
  /** The words behind it. */
  readonly rest: string
}

type Factor = Omit<ReadUnit, 'text'>

const power = /^(?:\s?\^-?\d|[23](?![\d.])|\s?(?:squared|cubed)(?!\p{L}))/u
const squareOrCubic = /^(?:sq\.?|square|cu\.?|cubic) /
/** “9 in total” is not 9 inches. */
const symbol = /^(?!in \p{L}(?!er\b))(?:°[CF](?!\p{L})|[°$€£¥₹¢Ω‰‱]|[μµ]?\p{L}+)/u
const divides = /^\s?(?:\/|per(?!\p{L})|an?(?= (?:hour|minute|second|day|week|month|year)))\s?/u
const multiplies = /^\s?·\s?|^ (?=\p{L}{1,3}(?:\^-\d|\/))/u

/** The unit that the words behind or before a number begin with; null for none of the known. */
export function readUnit(words: string): ReadUnit | null {
  const plain = plainUnits.reduce((text, [pattern, as]) => text.replace(pattern, as), words).trimStart()
  let read = factorOf(plain)
  if (read === null) return null
  for (let next = furtherFactor(read); next !== null; next = furtherFactor(read)) read = next
  return { unit: read.unit, text: plain.slice(0, plain.length - read.rest.length), rest: read.rest.trim() }
}

/** Reads a further factor of the unit; null where nothing follows. */
function furtherFactor({ unit, rest }: Factor): Factor | null {
  const divisor = divides.exec(rest)?.[0]
  const joined = divisor ?? multiplies.exec(rest)?.[0]
  if (joined === undefined) return null
  const behind = rest.slice(joined.length)
  const next = factorOf(behind) ?? (divisor === undefined ? null : unknownFactor(behind))
  return next && { unit: combined(unit, next.unit, divisor === undefined ? 1 : -1), rest: next.rest }
}

export const unitOf = (words: string): Unit | null => readUnit(words)?.unit ?? null

/** The same right behind a number, where K may also be a thousand. */
export function unitBehind(words: string): Unit | null {
  const letter = words.charAt(0)
  const inBare = suffixOf(words)
  return inBare === null ? unitOf(words) : { ...(namedUnit(letter) ?? ownUnit(letter)), inBare }
}

/** “cm^2”, “square feet”, “seconds squared”. */
function factorOf(text: string): Factor | null {
  const prefix = squareOrCubic.exec(text)?.[0] ?? ''
  const name = symbol.exec(text.slice(prefix.length))?.[0] ?? ''
  const unit = name === '' ? null : namedUnit(name)
  if (unit === null) return null
  const behind = text.slice(prefix.length + name.length)
  const exponent = power.exec(behind)?.[0] ?? ''
  return {
    unit: toPower(unit, exponentOf(exponent) * exponentOf(prefix)),
    rest: behind.slice(exponent.length),
  }
}

function exponentOf(words: string): number {
  if (/sq/.test(words)) return 2
  return /cu/.test(words) ? 3 : Number(/-?\d/.exec(words)?.[0] ?? 1)
}

/** A rate per unknown thing, as in $5 per apple, equals only a rate per the same thing. */
function unknownFactor(text: string): Factor | null {
  const [name] = /^\p{L}+/u.exec(text) ?? []
  if (name === undefined) return null
  return { unit: ownUnit(name.toLowerCase().replace(/s$/, '')), rest: text.slice(name.length) }
}

function toPower(unit: Unit, exponent: number): Unit {
  if (exponent === 1) return unit
  const { dimensions, factor } = unit
  const one = Array.from({ length: Math.abs(exponent) }).reduce<Rational>(
    (total) => product(total, factor),
    whole(1n),
  )
  const raised = Object.entries(dimensions).map(([base, own]) => [base, own * exponent] as const)
  return {
    dimensions: Object.fromEntries(raised),
    factor: exponent < 0 ? quotient(whole(1n), one)! : one,
  }
}

function combined(a: Unit, b: Unit, sign: 1 | -1): Unit {
  const other = toPower(b, sign)
  const dimensions = { ...a.dimensions }
  for (const [base, exponent] of Object.entries(other.dimensions))
    dimensions[base] = (dimensions[base] ?? 0) + exponent
  return { dimensions, factor: product(a.factor, other.factor) }
}

const inBare = (unit: Unit | null): Rational => unit?.inBare ?? whole(1n)

/** Converts one `from` to `to`; null where they measure different things. A unit that is not known could be either. */
export function conversion(from: Unit | null, to: Unit | null): Rational | null {
  if (from === null || to === null || (from.inBare && to.inBare)) return quotient(inBare(from), inBare(to))
  const bases = new Set([...Object.keys(from.dimensions), ...Object.keys(to.dimensions)])
  const isSame = [...bases].every((base) => (from.dimensions[base] ?? 0) === (to.dimensions[base] ?? 0))
  if (isSame) return quotient(from.factor, to.factor)
  if (from.alsoMeans !== undefined) return conversion(from.alsoMeans, to)
  return to.alsoMeans === undefined ? null : conversion(from, to.alsoMeans)
}

/** The words of a text without their plural. */
export const wordsOf = (text: string): string[] =>
  [...text.toLowerCase().matchAll(/\p{L}{2,}/gu)].map(([word]) => word.replace(/s$/, ''))

/**
 * Returns true if the words behind two numbers name different things, as cups and teaspoons are, where one of them is
 * not a known unit.
 */
export function isOtherThing(a: string, b: string): boolean {
  const [own, other] = [wordsOf(a), wordsOf(b)]
  if (own.length === 0 || other.length === 0 || (unitOf(a) !== null && unitOf(b) !== null)) return false
  return !own.some((word) => other.includes(word))
}

/** The percent sign, or the unit, that stands behind a value on the same line; empty for neither. */
export function measureBehind(text: string): string {
  if (/^[ ~$)\\]{0,3}(?:\\?%|percent\b|pct\b)/.test(text)) return '\\%'
  const line = text.split('\n', 1)[0]!.slice(0, 60)
  const unit = /^(?: |~|\\[,;: ]|\\text|\\mathrm|\^)/.test(line) ? readUnit(line) : null
  return unit === null ? '' : ` ${unit.text}`
}

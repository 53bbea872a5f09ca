/** The values of templates: Python's, as far as chat templates use them. */
import { charge, chargeText, enterLevel, joinedText, leaveLevel, lettersOf, replacedText } from './limits.ts'

/** A floating-point number; whole ones are written with a decimal point, unlike integers. */
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** An integer beyond those that JavaScript holds exactly: it is written with its digits and reckoned with as a float. */
export class LargeInteger extends Float {
  readonly digits: string

  constructor(digits: string) {
    super(Number(digits))
    this.digits = digits
  }
}

/** A list that was written in parentheses or made by unpacking. */
export class Tuple extends Array<Value> {}

/** Result of `namespace()`: the only object whose fields can be set. */
export class Namespace {
  readonly fields = new Map<string, Value>()
}

export interface CallArguments {
  readonly args: readonly Value[]
  readonly named: ReadonlyMap<string, Value>
}

export type Callable = (call: CallArguments) => Value

/** Integers are numbers, None is null, a name without a value is undefined. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | Float
  | Namespace
  | Callable
  | Value[]
  | ReadonlyMap<string, Value>

export type Dict = ReadonlyMap<string, Value>

export const isDict = (value: Value): value is Dict => value instanceof Map
export const isList = (value: Value): value is Value[] => Array.isArray(value)

/** Looking an entry of a dict up, compared with an item of a list. */
const entrySteps = 4

/** Deeper than any message; keeps hostile data from exhausting the stack. */
const maxDepth = 200

/** A value from JSON or JavaScript. Errors: Error for what templates cannot hold. */
export function toValue(input: unknown, depth = 0): Value {
  if (depth > maxDepth) throw new Error('a value is nested too deep')
  if (input instanceof Float) return input
  if (Array.isArray(input)) return input.map((item: unknown) => toValue(item, depth + 1))
  if (typeof input === 'object' && input !== null) {
    return new Map(Object.entries(input).map(([key, item]) => [key, toValue(item, depth + 1)]))
  }
  if (typeof input === 'number') return Number.isInteger(input) ? input : new Float(input)
  if (isPlain(input)) return input
  throw new Error(`${typeof input} is not a value for a template`)
}

const isPlain = (input: unknown): input is string | boolean | null | undefined =>
  typeof input === 'string' || typeof input === 'boolean' || (input ?? null) === null

export function isTrue(value: Value): boolean {
  if (typeof value === 'string' || isList(value)) return value.length > 0
  if (value instanceof Float) return value.value !== 0
  if (isDict(value)) return value.size > 0
  return value !== null && value !== undefined && value !== false && value !== 0
}

/** Returns a number as JavaScript's; true is 1. null where the value is not a number. */
export function numberOf(value: Value): number | null {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  return value instanceof Float ? value.value : null
}

export function nameOfType(value: Value): string {
  if (value === null) return 'NoneType'
  if (value === undefined) return 'Undefined'
  if (value instanceof Float) return value instanceof LargeInteger ? 'int' : 'float'
  if (value instanceof Tuple) return 'tuple'
  if (isList(value)) return 'list'
  if (isDict(value)) return 'dict'
  const names: Readonly<Record<string, string>> = { string: 'str', number: 'int', boolean: 'bool' }
  return names[typeof value] ?? 'function'
}

export function isEqual(left: Value, right: Value): boolean {
  enterLevel()
  const isSo = areEqual(left, right)
  leaveLevel()
  return isSo
}

function areEqual(left: Value, right: Value): boolean {
  const [a, b] = [numberOf(left), numberOf(right)]
  if (a !== null && b !== null) return a === b
  if (isList(left) && isList(right)) {
    const sameKind = left instanceof Tuple === right instanceof Tuple
    return sameKind && left.length === right.length && left.every((item, at) => isEqual(item, right[at]))
  }
  if (isDict(left) && isDict(right)) return areSameEntries(left, right)
  return isSame(left, right)
}

function isSame(left: Value, right: Value): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length !== right.length) return false
    chargeText(left.length)
  }
  return left === right
}

function areSameEntries(left: Dict, right: Dict): boolean {
  if (left.size !== right.size) return false
  charge(entrySteps * left.size)
  return [...left].every(([key, item]) => right.has(key) && isEqual(item, right.get(key)))
}

/** Returns a number below, equal to or above zero. Errors: Error for values without an order. */
export function compare(left: Value, right: Value): number {
  enterLevel()
  const order = orderOf(left, right)
  leaveLevel()
  return order
}

function orderOf(left: Value, right: Value): number {
  const [a, b] = [numberOf(left), numberOf(right)]
  if (a !== null && b !== null) return a - b
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (isList(left) && isList(right)) {
    for (let at = 0; at < Math.min(left.length, right.length); at++) {
      if (!isEqual(left[at], right[at])) return compare(left[at], right[at])
    }
    return left.length - right.length
  }
  throw new Error(`'<' not supported between instances of '${nameOfType(left)}' and '${nameOfType(right)}'`)
}

/** Compares by code point, as Python does. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  const [a, b] = [lettersOf(left), lettersOf(right)]
  const at = a.findIndex((letter, index) => letter !== b[index])
  return (a[at]?.codePointAt(0) ?? -1) - (b[at]?.codePointAt(0) ?? -1) || a.length - b.length
}

/** Returns the items that a loop goes over. Errors: Error for values that have none. */
export function itemsOf(value: Value): Value[] {
  if (typeof value === 'string') return lettersOf(value)
  if (value === undefined) return []
  if (isList(value)) {
    charge(value.length)
    return value
  }
  if (isDict(value)) {
    charge(value.size)
    return [...value.keys()]
  }
  throw new Error(`'${nameOfType(value)}' object is not iterable`)
}

/** Returns the text of a value, as Python's str() does. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : spell(value)
}

/** Returns the spelling of a value, as Python's repr() does. */
export function spell(value: Value, depth = 0): string {
  if (depth > maxDepth) throw new Error('a value is nested too deep')
  charge(1)
  const inner = (item: Value) => spell(item, depth + 1)
  const all = (items: readonly Value[]) => joinedText(items.map(inner), ', ')
  if (value instanceof Tuple) return `(${all(value)}${value.length === 1 ? ',' : ''})`
  if (isList(value)) return `[${all(value)}]`
  if (!isDict(value)) return spellScalar(value)
  const entries = Array.from(value, ([key, item]) => `${inner(key)}: ${inner(item)}`)
  return `{${joinedText(entries, ', ')}}`
}

function spellScalar(value: Value): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return spellText(value)
  if (value instanceof LargeInteger) return value.digits
  if (value instanceof Float) return spellFloat(value.value)
  return value === null ? 'None' : value === undefined ? 'Undefined' : `<${nameOfType(value)}>`
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function spellText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const body = replacedText(text, /[\\\n\r\t]|\p{C}|(?! )\p{Z}/gu, (letter = '') => {
    const code = letter.codePointAt(0) ?? 0
    const [sign, width] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8]
    return escapes[letter] ?? `\\${sign}${code.toString(16).padStart(width, '0')}`
  })
  return quote + (quote === "'" ? body.replaceAll("'", String.raw`\'`) : body) + quote
}

/** The shortest digits that give the number back, as Python writes them. */
export function spellFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 16) return spellPlain(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

const spellPlain = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value))

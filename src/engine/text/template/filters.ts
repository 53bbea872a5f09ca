/** Jinja's filters, as far as chat templates use them. */
import { boundedText, charge, joinedText, lettersOf, replacedText } from './limits.ts'
import {
  capitalize,
  entriesOf,
  expectText,
  formatPercent,
  lowerCase,
  replace,
  strip,
  upperCase,
} from './methods.ts'
import { checks } from './operators.ts'
import {
  type CallArguments,
  compare,
  type Dict,
  Float,
  LargeInteger,
  isDict,
  isEqual,
  isList,
  isTrue,
  itemsOf,
  nameOfType,
  Namespace,
  numberOf,
  spellFloat,
  textOf,
  type Value,
} from './values.ts'

export type Filter = (value: Value, call: CallArguments) => Value

/** An argument by place or by name. */
const argument = ({ args, named }: CallArguments, at: number, name: string): Value =>
  args[at] ?? named.get(name)

const filters: Readonly<Record<string, Filter>> = {
  abs: (value) => (value instanceof Float ? new Float(Math.abs(value.value)) : Math.abs(expectNumber(value))),
  capitalize: (value) => capitalize(textOf(value)),
  count: lengthOf,
  d: withDefault,
  default: withDefault,
  dictsort: sortDict,
  e: escapeHtml,
  escape: escapeHtml,
  first: (value) => (isList(value) ? value[0] : itemsOf(value)[0]),
  float: (value, call) => toFloat(value, argument(call, 0, 'default')),
  format: (value, { args }) => formatPercent(textOf(value), args),
  indent: indent,
  int: (value, call) => toInteger(value, argument(call, 0, 'default'), argument(call, 1, 'base') ?? 10),
  items: (value) => (value === undefined ? [] : entriesOf(expectDict(value))),
  join: joinItems,
  last: (value) => (isList(value) ? value : itemsOf(value)).at(-1),
  length: lengthOf,
  list: (value) => [...itemsOf(value)],
  lower: (value) => lowerCase(textOf(value)),
  map: mapItems,
  max: (value) => extreme(value, 1),
  min: (value) => extreme(value, -1),
  reject: (value, call) => select(value, call, false),
  rejectattr: (value, call) => selectByAttribute(value, call, false),
  replace: (value, { args: [from, to, count] }) => replace(textOf(value), from, to, count),
  reverse: (value) =>
    typeof value === 'string' ? lettersOf(value).reverse().join('') : [...itemsOf(value)].reverse(),
  round: (value, call) => roundTo(value, argument(call, 0, 'precision')),
  safe: (value) => value,
  select: (value, call) => select(value, call, true),
  selectattr: (value, call) => selectByAttribute(value, call, true),
  sort: sortItems,
  string: (value) => textOf(value),
  sum: (value, call) => sumOf(fieldsOf(value, argument(call, 0, 'attribute'))),
  // Other than the method, words begin at blanks, hyphens and brackets alone.
  title: (value) =>
    replacedText(textOf(value), /[^-({[<\p{White_Space}]+/gu, (word = '') => capitalize(word)),
  tojson: json,
  trim: (value, call) => strip(textOf(value), argument(call, 0, 'chars'), 'both'),
  unique: (value) => uniqueItems(itemsOf(value)),
  upper: (value) => upperCase(textOf(value)),
  wordcount: (value) => wordsOf(textOf(value)).length,
}

function expectNumber(value: Value): number {
  const number = numberOf(value)
  if (number === null) throw new Error(`a number was expected, not ${nameOfType(value)}`)
  return number
}

function expectDict(value: Value): Dict {
  if (isDict(value)) return value
  throw new Error(`a dict was expected, not ${nameOfType(value)}`)
}

function lengthOf(value: Value): number {
  if (isList(value)) return value.length
  return isDict(value) ? value.size : itemsOf(value).length
}

function wordsOf(text: string): readonly string[] {
  charge(text.length)
  return text.match(/[\p{L}\p{N}_]+/gu) ?? []
}

function withDefault(value: Value, call: CallArguments): Value {
  const isMissing = value === undefined || (isTrue(argument(call, 1, 'boolean')) && !isTrue(value))
  return isMissing ? (argument(call, 0, 'default_value') ?? '') : value
}

function escapeHtml(value: Value): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  }
  return replacedText(textOf(value), /[&<>"']/g, (letter = '') => entities[letter] ?? letter)
}

function indent(value: Value, call: CallArguments): string {
  const width = argument(call, 0, 'width') ?? 4
  const pad = typeof width === 'string' ? width : ' '.repeat(Math.min(1000, Math.max(0, expectNumber(width))))
  const [first, blank] = [isTrue(argument(call, 1, 'first')), isTrue(argument(call, 2, 'blank'))]
  const text = expectText(value, 'what is indented')
  charge(text.length)
  const lines = text.split('\n')
  boundedText(pad, lines.length)
  const indented = lines.map((line, at) =>
    (at === 0 && !first) || (line === '' && !blank && at > 0) ? line : pad + line,
  )
  return joinedText(indented, '\n')
}

function toInteger(value: Value, otherwise: Value, base: Value): Value {
  const number = numberOf(value)
  if (number !== null) return Math.trunc(number)
  const text = strip(textOf(value), null, 'both')
  const whole = inBase(text, numberOf(base) ?? 0)
  if (whole !== null) return whole
  return /^[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/.test(text) ? Math.trunc(Number(text)) : (otherwise ?? 0)
}

/** Reads digits as Python's int() does, with an optional 0x, 0o or 0b of the base; null for any other text. */
function inBase(text: string, base: number): number | null {
  if (base < 2 || base > 36) throw new Error(`it reads an integer in base ${base}, which is not supported`)
  const prefix = { 2: '0b', 8: '0o', 16: '0x' }[base] ?? ''
  const [, sign = '', digits = ''] =
    new RegExp(`^([+-]?)(?:${prefix})?([\\da-z]+(?:_[\\da-z]+)*)$`, 'i').exec(text) ?? []
  const places = [...digits.replaceAll('_', '')].map((digit) => parseInt(digit, 36))
  if (places.length === 0 || places.some((place) => place >= base)) return null
  const size = places.reduce((sum, place) => sum * base + place, 0)
  return sign === '-' ? -size : size
}

function toFloat(value: Value, otherwise: Value): Value {
  const number = numberOf(value)
  if (number !== null) return new Float(number)
  const text = strip(textOf(value), null, 'both')
  return text !== '' && !Number.isNaN(Number(text)) ? new Float(Number(text)) : (otherwise ?? new Float(0))
}

function joinItems(value: Value, call: CallArguments): string {
  const items = fieldsOf(value, argument(call, 1, 'attribute'))
  return joinedText(items.map(textOf), textOf(argument(call, 0, 'd')))
}

/** Returns the items, or a field of each. */
const fieldsOf = (value: Value, attribute: Value): Value[] =>
  itemsOf(value).map((item) => (attribute === undefined ? item : attributeOf(item, attribute)))

/** A field, or a path of fields with dots between. */
function attributeOf(item: Value, path: Value): Value {
  if (typeof path === 'number') return isList(item) ? item.at(path) : undefined
  const text = textOf(path)
  charge(1 + text.length)
  return text.split('.').reduce<Value>((current, name) => {
    if (isDict(current)) return current.get(name)
    if (current instanceof Namespace) return current.fields.get(name)
    return isList(current) && /^\d+$/.test(name) ? current[Number(name)] : undefined
  }, item)
}

function mapItems(value: Value, call: CallArguments): Value {
  const attribute = call.named.get('attribute')
  const items = itemsOf(value)
  if (attribute !== undefined) {
    return items.map((item) => attributeOf(item, attribute) ?? call.named.get('default'))
  }
  const [name, ...args] = call.args
  const filter = findFilter(textOf(name))
  return items.map((item) => filter(item, { args, named: call.named }))
}

export function findFilter(name: string): Filter {
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined
  if (filter === undefined) throw new Error(`it uses the filter “${name}”, which is not supported`)
  return filter
}

function findCheck(name: Value) {
  const check = typeof name === 'string' && Object.hasOwn(checks, name) ? checks[name] : undefined
  if (check === undefined) throw new Error(`it uses the test “${textOf(name)}”, which is not supported`)
  return check
}

function select(value: Value, { args: [name, ...rest] }: CallArguments, wanted: boolean): Value {
  const check = name === undefined ? isTrue : findCheck(name)
  return itemsOf(value).filter((item) => check(item, ...rest) === wanted)
}

function selectByAttribute(
  value: Value,
  { args: [attribute, name, ...rest] }: CallArguments,
  wanted: boolean,
): Value {
  const check = name === undefined ? isTrue : findCheck(name)
  return itemsOf(value).filter((item) => check(attributeOf(item, attribute), ...rest) === wanted)
}

const folded = (value: Value, isCaseSensitive: boolean): Value =>
  typeof value === 'string' && !isCaseSensitive ? lowerCase(value) : value

function sortItems(value: Value, call: CallArguments): Value {
  const isCaseSensitive = isTrue(argument(call, 1, 'case_sensitive'))
  const attribute = argument(call, 2, 'attribute')
  const keyOf = (item: Value) =>
    folded(attribute === undefined ? item : attributeOf(item, attribute), isCaseSensitive)
  const sign = isTrue(argument(call, 0, 'reverse')) ? -1 : 1
  return [...itemsOf(value)].sort((a, b) => sign * compare(keyOf(a), keyOf(b)))
}

function sortDict(value: Value, call: CallArguments): Value {
  const at = argument(call, 1, 'by') === 'value' ? 1 : 0
  const isCaseSensitive = isTrue(argument(call, 0, 'case_sensitive'))
  const sign = isTrue(argument(call, 2, 'reverse')) ? -1 : 1
  const entries = entriesOf(expectDict(value))
  return entries.sort(
    (a, b) => sign * compare(folded(a[at], isCaseSensitive), folded(b[at], isCaseSensitive)),
  )
}

function uniqueItems(items: readonly Value[]): Value[] {
  const kept: Value[] = []
  for (const item of items) {
    if (!kept.some((other) => isEqual(folded(other, false), folded(item, false)))) kept.push(item)
  }
  return kept
}

function extreme(value: Value, sign: 1 | -1): Value {
  const [first, ...rest] = itemsOf(value)
  return rest.reduce(
    (best, item) => (sign * compare(folded(item, false), folded(best, false)) > 0 ? item : best),
    first,
  )
}

function sumOf(items: readonly Value[]): Value {
  const sum = items.reduce<number>((total, item) => total + expectNumber(item), 0)
  return items.some((item) => item instanceof Float) ? new Float(sum) : sum
}

/** Halves go to the even neighbour, as in Python. */
function roundTo(value: Value, precision: Value): Value {
  const factor = 10 ** Math.min(15, expectNumber(precision ?? 0))
  const scaled = expectNumber(value) * factor
  const down = Math.floor(scaled)
  const isHalf = scaled - down === 0.5
  const rounded = (isHalf ? down + (down % 2 === 0 ? 0 : 1) : Math.round(scaled)) / factor
  return value instanceof Float ? new Float(rounded) : rounded
}

function json(value: Value, call: CallArguments): string {
  const [indentation, separators] = [argument(call, 1, 'indent'), argument(call, 2, 'separators')]
  const pair = isList(separators) && separators.length === 2 ? separators.map(textOf) : null
  const pad =
    typeof indentation === 'number'
      ? ' '.repeat(Math.min(64, Math.max(0, indentation)))
      : (indentation ?? null)
  return boundedText(
    toJson(value, {
      ensureAscii: isTrue(argument(call, 0, 'ensure_ascii')),
      indent: typeof pad === 'string' ? pad : null,
      separators: pair === null ? null : [pair[0] ?? '', pair[1] ?? ''],
      sortKeys: isTrue(argument(call, 3, 'sort_keys')),
    }),
  )
}

interface JsonStyle {
  readonly indent: string | null
  readonly separators: readonly [item: string, key: string] | null
  readonly sortKeys: boolean
  readonly ensureAscii: boolean
}

/** Writes JSON as Python's json.dumps does. Errors: Error for values without a spelling in JSON. */
function toJson(value: Value, style: JsonStyle, depth = 0): string {
  if (depth > 200) throw new Error('a value is nested too deep')
  charge(1)
  if (isList(value))
    return wrapped(
      '[]',
      value.map((item) => toJson(item, style, depth + 1)),
      style,
      depth,
    )
  if (!isDict(value)) return scalar(value, style)
  charge(value.size)
  const entries = [...value]
  if (style.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const [, separator] = separatorsOf(style)
  const parts = entries.map(([key, item]) => quoted(key, style) + separator + toJson(item, style, depth + 1))
  return wrapped('{}', parts, style, depth)
}

function scalar(value: Value, style: JsonStyle): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value === 'string') return quoted(value, style)
  if (value instanceof LargeInteger) return value.digits
  if (value instanceof Float) return jsonFloat(value.value)
  throw new Error(`Object of type ${nameOfType(value)} is not JSON serializable`)
}

const separatorsOf = ({ separators, indent }: JsonStyle): readonly [string, string] =>
  separators ?? [indent === null ? ', ' : ',', ': ']

/** Joins parts between two brackets, each on a line of its own where the style indents. */
function wrapped(brackets: '[]' | '{}', parts: readonly string[], style: JsonStyle, depth: number): string {
  const [open, close] = [brackets.charAt(0), brackets.charAt(1)]
  const [separator] = separatorsOf(style)
  if (style.indent === null || parts.length === 0) return open + joinedText(parts, separator) + close
  boundedText(style.indent, (depth + 1) * (parts.length + 1))
  const [outer, inner] = [`\n${style.indent.repeat(depth)}`, `\n${style.indent.repeat(depth + 1)}`]
  return open + inner + joinedText(parts, separator + inner) + outer + close
}

function jsonFloat(value: number): string {
  if (Number.isFinite(value)) return spellFloat(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'
}

function quoted(text: string, { ensureAscii }: JsonStyle): string {
  const plain = boundedText(JSON.stringify(boundedText(text)))
  if (!ensureAscii) return plain
  return replacedText(
    plain,
    /[\u007f-\uffff]/g,
    (unit = '') => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

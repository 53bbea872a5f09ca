/** Python's non-mutating methods of strings, dicts and lists. */
import {
  boundedText,
  boundLength,
  charge,
  chargeSearch,
  chargeText,
  joinedText,
  lettersOf,
  replacedText,
} from './limits.ts'
import {
  type Callable,
  type Dict,
  isDict,
  isEqual,
  isList,
  itemsOf,
  nameOfType,
  numberOf,
  spell,
  textOf,
  Tuple,
  type Value,
} from './values.ts'

type Method<Self> = (self: Self, args: readonly Value[], named: ReadonlyMap<string, Value>) => Value

const space = String.raw`[\p{White_Space}\x1c-\x1f]`
const isSpace = new RegExp(`^${space}$`, 'u')

export function expectText(value: Value, what: string): string {
  if (typeof value === 'string') return value
  throw new Error(`${what} must be text, not ${nameOfType(value)}`)
}

/** Strips white space, or any of the given characters. */
export function strip(text: string, characters: Value, sides: 'both' | 'left' | 'right'): string {
  const isStripped = strippedBy(characters)
  let [start, end] = [0, text.length]
  // Letter by letter: a pattern for the end would be tried at every place.
  while (sides !== 'right' && start < end) {
    const letter = String.fromCodePoint(text.codePointAt(start) ?? 0)
    if (!isStripped(letter)) break
    start += letter.length
  }
  while (sides !== 'left' && end > start) {
    const from = end - start > 1 && /[\udc00-\udfff]/.test(text.charAt(end - 1)) ? end - 2 : end - 1
    if (!isStripped(text.slice(from, end))) break
    end = from
  }
  return text.slice(start, end)
}

function strippedBy(characters: Value): (letter: string) => boolean {
  const among =
    characters === null || characters === undefined
      ? null
      : new Set(lettersOf(expectText(characters, 'what is stripped')))
  return (letter) => {
    charge(1)
    return among === null ? isSpace.test(letter) : among.has(letter)
  }
}

function split(text: string, separator: Value, limit: Value): Value {
  const most = numberOf(limit ?? -1) ?? -1
  if (separator === null || separator === undefined) return splitAtSpace(text, most)
  const mark = expectText(separator, 'a separator')
  if (mark === '') throw new Error('empty separator')
  const all = pieces(text, mark)
  return most < 0 || all.length <= most + 1 ? all : [...all.slice(0, most), all.slice(most).join(mark)]
}

function pieces(text: string, mark: string): string[] {
  chargeSearch(text, mark)
  const all = text.split(mark)
  charge(all.length)
  return all
}

const wordHere = new RegExp(`^(?:(?!${space})[^])+`, 'u')

/** Splits into words; after `most` words (−1: no limit) the rest stays as it is. */
function splitAtSpace(text: string, most: number): string[] {
  const parts: string[] = []
  let rest = strip(text, null, 'left')
  while (rest !== '' && (most < 0 || parts.length < most)) {
    const [word = ''] = wordHere.exec(rest) ?? []
    charge(1 + word.length)
    parts.push(word)
    rest = strip(rest.slice(word.length), null, 'left')
  }
  return rest === '' ? parts : [...parts, strip(rest, null, 'right')]
}

function splitFromRight(text: string, separator: Value, limit: Value): Value {
  const most = numberOf(limit ?? -1) ?? -1
  if (typeof separator !== 'string' || separator === '' || most < 0) return split(text, separator, null)
  const all = pieces(text, separator)
  if (all.length <= most + 1) return all
  const kept = all.length - most
  return [all.slice(0, kept).join(separator), ...all.slice(kept)]
}

export function replace(text: string, from: Value, to: Value, count: Value): string {
  const [old, fresh] = [expectText(from, 'what is replaced'), expectText(to, 'a replacement')]
  const most = numberOf(count ?? -1) ?? -1
  let left = most < 0 ? Infinity : most
  let length = 0
  chargeSearch(text, old)
  const replaced = text.replaceAll(old, (found) => {
    const put = left-- > 0 ? fresh : found
    charge(1)
    boundLength((length += put.length))
    return put
  })
  return boundedText(replaced)
}

function anyOf(text: string, options: Value, test: (option: string) => boolean): boolean {
  chargeText(text.length)
  return itemsOf(isList(options) ? options : [options]).some((option) => {
    const part = expectText(option, 'a beginning or an end')
    chargeText(part.length)
    return test(part)
  })
}

export function lowerCase(text: string): string {
  chargeText(text.length)
  return text.toLowerCase()
}

export function upperCase(text: string): string {
  chargeText(text.length)
  return text.toUpperCase()
}

export function capitalize(text: string): string {
  const [first = ''] = text.slice(0, 2)
  return upperCase(first) + lowerCase(text.slice(first.length))
}

/** Capitalizes every run of letters. */
const titleCase = (text: string): string =>
  replacedText(text, /\p{Alphabetic}+/gu, (word = '') => capitalize(word))

function isAll(text: string, pattern: RegExp): boolean {
  chargeText(text.length)
  return pattern.test(text)
}

const ofText: Readonly<Record<string, Method<string>>> = {
  strip: (text, [characters]) => strip(text, characters, 'both'),
  lstrip: (text, [characters]) => strip(text, characters, 'left'),
  rstrip: (text, [characters]) => strip(text, characters, 'right'),
  upper: (text) => upperCase(text),
  lower: (text) => lowerCase(text),
  title: (text) => titleCase(text),
  capitalize: (text) => capitalize(text),
  split: (text, [separator, limit], named) =>
    split(text, separator ?? named.get('sep'), limit ?? named.get('maxsplit')),
  rsplit: (text, [separator, limit], named) =>
    splitFromRight(text, separator, limit ?? named.get('maxsplit')),
  splitlines: splitLines,
  startswith: (text, [options]) => anyOf(text, options, (option) => text.startsWith(option)),
  endswith: (text, [options]) => anyOf(text, options, (option) => text.endsWith(option)),
  replace: (text, [from, to, count], named) => replace(text, from, to, count ?? named.get('count')),
  find: (text, [part]) => lettersBefore(text, text.indexOf(sought(text, part))),
  rfind: (text, [part]) => lettersBefore(text, text.lastIndexOf(sought(text, part))),
  count: (text, [part]) => pieces(text, expectText(part, 'what is counted')).length - 1,
  join: (text, [items]) => joinTexts(items, text),
  format: (text, args, named) => formatBraces(text, args, named),
  removeprefix: (text, [part]) =>
    typeof part === 'string' && text.startsWith(part) ? text.slice(part.length) : text,
  removesuffix: (text, [part]) =>
    typeof part === 'string' && part !== '' && text.endsWith(part) ? text.slice(0, -part.length) : text,
  isdigit: (text) => isAll(text, /^\p{Nd}+$/u),
  isalpha: (text) => isAll(text, /^\p{L}+$/u),
  isalnum: (text) => isAll(text, /^[\p{L}\p{N}]+$/u),
  isspace: (text) => isAll(text, /^\s+$/u),
  isupper: (text) => text !== lowerCase(text) && text === upperCase(text),
  islower: (text) => text !== upperCase(text) && text === lowerCase(text),
}

const lettersBefore = (text: string, at: number): number =>
  at < 0 ? -1 : lettersOf(text.slice(0, at)).length

function sought(text: string, part: Value): string {
  const found = expectText(part, 'what is sought')
  chargeSearch(text, found)
  return found
}

function splitLines(text: string): string[] {
  charge(text.length)
  if (text === '') return []
  return text
    .replace(/(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])$/, '')
    .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
}

function joinTexts(items: Value, separator: string): string {
  if (!isList(items)) throw new Error('can only join an iterable')
  charge(items.length)
  return joinedText(
    items.map((item) => expectText(item, 'what is joined')),
    separator,
  )
}

export function entriesOf(dict: Dict): Value[][] {
  charge(dict.size)
  return Array.from(dict, (entry) => Tuple.from<Value>(entry))
}

const ofDict: Readonly<Record<string, Method<Dict>>> = {
  items: (dict) => entriesOf(dict),
  keys: (dict) => itemsOf(dict),
  values: (dict) => entriesOf(dict).map(([, value]) => value),
  get: (dict, [key, otherwise]) =>
    typeof key === 'string' && dict.has(key) ? dict.get(key) : (otherwise ?? null),
  copy(dict) {
    charge(dict.size)
    return new Map(dict)
  },
}

const ofList: Readonly<Record<string, Method<Value[]>>> = {
  index: (list, [item]) => {
    const at = itemsOf(list).findIndex((entry) => isEqual(entry, item))
    if (at < 0) throw new Error('it looked up something that is not in the list')
    return at
  },
  count: (list, [item]) => itemsOf(list).filter((entry) => isEqual(entry, item)).length,
  copy: (list) => [...itemsOf(list)],
}

function bound<Self>(
  methods: Readonly<Record<string, Method<Self>>>,
  self: Self,
  name: string,
): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  return method === undefined ? undefined : ({ args, named }) => method(self, args, named)
}

/** Returns the method of that name, bound to the value; undefined where there is none. */
export function methodOf(value: Value, name: string): Callable | undefined {
  if (typeof value === 'string') return bound(ofText, value, name)
  if (isDict(value)) return bound(ofDict, value, name)
  return isList(value) ? bound(ofList, value, name) : undefined
}

/** Python's `text % values`, for the conversions that templates use. Errors: Error for others and for too few values. */
export function formatPercent(text: string, values: readonly Value[]): string {
  let used = 0
  const next = (): Value => {
    if (used >= values.length) throw new Error('not enough arguments for format string')
    return values[used++]
  }
  const [first] = values
  return replacedText(
    text,
    /%(?:\((\w+)\))?(?:\.(\d{1,2}))?(.?)/g,
    (_, key: string | undefined, digits: string | undefined, kind = '') => {
      if (kind === '%') return '%'
      const value = key === undefined ? next() : isDict(first) ? first.get(key) : undefined
      return convert(kind, value, digits)
    },
  )
}

function convert(kind: string, value: Value, digits: string | undefined): string {
  if (kind === 's') return textOf(value)
  if (kind === 'r') return spell(value)
  const number = numberOf(value)
  if (number === null || !'dif'.includes(kind) || kind === '') {
    throw new Error(`unsupported format %${kind} of ${spell(value)}`)
  }
  return kind === 'f' ? number.toFixed(Number(digits ?? 6)) : String(Math.trunc(number))
}

/** Python's `text.format(…)`: {}, {0} and {name}; no format specifications. */
function formatBraces(text: string, args: readonly Value[], named: ReadonlyMap<string, Value>): string {
  let used = 0
  return replacedText(text, /\{\{|\}\}|\{([^{}]*)\}/g, (whole = '', name: string | undefined) => {
    if (name === undefined) return whole.charAt(0)
    const value = name === '' ? args[used++] : /^\d+$/.test(name) ? args[Number(name)] : named.get(name)
    if (value === undefined) throw new Error(`format has no value for {${name}}`)
    return textOf(value)
  })
}

/** Methods of texts, dicts and lists: those of Python's that change nothing. */
import { formatBraces } from './format.ts'
import { boundedText } from './limits.ts'
import {
  type Callable,
  type Dict,
  isDict,
  isEqual,
  isList,
  nameOfType,
  numberOf,
  Tuple,
  type Value,
} from './values.ts'

type Method<Self> = (self: Self, args: readonly Value[], named: ReadonlyMap<string, Value>) => Value

const space = String.raw`[\p{White_Space}\x1c-\x1f]`

function expectText(value: Value, what: string): string {
  if (typeof value === 'string') return value
  throw new Error(`${what} must be a text, not ${nameOfType(value)}`)
}

const escapeForClass = (letters: string): string =>
  Array.from(letters, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`).join('')

/** Strips white space, or any of the given characters. */
export function strip(text: string, characters: Value, sides: 'both' | 'left' | 'right'): string {
  if (characters === '') return text
  const set =
    characters === null || characters === undefined
      ? space
      : `[${escapeForClass(expectText(characters, 'what is stripped'))}]`
  let stripped = text
  if (sides !== 'right') stripped = stripped.replace(new RegExp(`^${set}+`, 'u'), '')
  if (sides !== 'left') stripped = stripEnd(stripped, new RegExp(`^${set}$`, 'u'))
  return stripped
}

/** Backwards letter by letter: a pattern for the end would be tried at every place. */
function stripEnd(text: string, isStripped: RegExp): string {
  let end = text.length
  while (end > 0) {
    const from = end > 1 && /[\udc00-\udfff]/.test(text.charAt(end - 1)) ? end - 2 : end - 1
    if (!isStripped.test(text.slice(from, end))) break
    end = from
  }
  return text.slice(0, end)
}

function split(text: string, separator: Value, limit: Value): Value {
  const most = numberOf(limit ?? -1) ?? -1
  if (separator === null || separator === undefined) return splitAtSpace(text, most)
  const mark = expectText(separator, 'a separator')
  if (mark === '') throw new Error('empty separator')
  const all = text.split(mark)
  return most < 0 || all.length <= most + 1 ? all : [...all.slice(0, most), all.slice(most).join(mark)]
}

const wordHere = new RegExp(`^(?:(?!${space})[^])+`, 'u')

/** Words; after as many as `most` (−1: all of them) the rest as it is. */
function splitAtSpace(text: string, most: number): string[] {
  const parts: string[] = []
  let rest = strip(text, null, 'left')
  while (rest !== '' && (most < 0 || parts.length < most)) {
    const [word = ''] = wordHere.exec(rest) ?? []
    parts.push(word)
    rest = strip(rest.slice(word.length), null, 'left')
  }
  return rest === '' ? parts : [...parts, strip(rest, null, 'right')]
}

function splitFromRight(text: string, separator: Value, limit: Value): Value {
  const most = numberOf(limit ?? -1) ?? -1
  if (typeof separator !== 'string' || separator === '' || most < 0) return split(text, separator, null)
  const all = text.split(separator)
  if (all.length <= most + 1) return all
  const kept = all.length - most
  return [all.slice(0, kept).join(separator), ...all.slice(kept)]
}

export function replace(text: string, from: Value, to: Value, count: Value): string {
  const [old, fresh] = [expectText(from, 'what is replaced'), expectText(to, 'a replacement')]
  const most = numberOf(count ?? -1) ?? -1
  if (most < 0) return boundedText(text.replaceAll(old, () => fresh))
  let left = most
  return boundedText(text.replaceAll(old, (found) => (left-- > 0 ? fresh : found)))
}

const anyOf = (options: Value, test: (option: string) => boolean): boolean =>
  (options instanceof Tuple || isList(options) ? options : [options]).some((option) =>
    test(expectText(option, 'a beginning or an end')),
  )

export const capitalize = (text: string): string => {
  const [first = '', ...rest] = Array.from(text)
  return first.toUpperCase() + rest.join('').toLowerCase()
}

/** Every run of letters begins with a capital. */
export const titleCase = (text: string): string =>
  text.replace(/\p{Alphabetic}+/gu, (word) => capitalize(word))

const isAll = (text: string, pattern: RegExp): boolean => pattern.test(text)

const ofText: Readonly<Record<string, Method<string>>> = {
  strip: (text, [characters]) => strip(text, characters, 'both'),
  lstrip: (text, [characters]) => strip(text, characters, 'left'),
  rstrip: (text, [characters]) => strip(text, characters, 'right'),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => titleCase(text),
  capitalize: (text) => capitalize(text),
  split: (text, [separator, limit], named) =>
    split(text, separator ?? named.get('sep'), limit ?? named.get('maxsplit')),
  rsplit: (text, [separator, limit], named) =>
    splitFromRight(text, separator, limit ?? named.get('maxsplit')),
  splitlines: (text) =>
    text
      .replace(/(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])$/, '')
      .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/),
  startswith: (text, [options]) => anyOf(options, (option) => text.startsWith(option)),
  endswith: (text, [options]) => anyOf(options, (option) => text.endsWith(option)),
  replace: (text, [from, to, count], named) => replace(text, from, to, count ?? named.get('count')),
  find: (text, [part]) => lettersBefore(text, text.indexOf(expectText(part, 'what is sought'))),
  rfind: (text, [part]) => lettersBefore(text, text.lastIndexOf(expectText(part, 'what is sought'))),
  count: (text, [part]) => text.split(expectText(part, 'what is counted')).length - 1,
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
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
}

const lettersBefore = (text: string, at: number): number =>
  at < 0 ? -1 : Array.from(text.slice(0, at)).length

function joinTexts(items: Value, separator: string): string {
  if (!isList(items)) throw new Error('can only join an iterable')
  return boundedText(items.map((item) => expectText(item, 'what is joined')).join(separator))
}

const ofDict: Readonly<Record<string, Method<Dict>>> = {
  items: (dict) => [...dict].map((entry) => Tuple.from<Value>(entry)),
  keys: (dict) => [...dict.keys()],
  values: (dict) => [...dict.values()],
  get: (dict, [key, otherwise]) =>
    typeof key === 'string' && dict.has(key) ? dict.get(key) : (otherwise ?? null),
  copy: (dict) => new Map(dict),
}

const ofList: Readonly<Record<string, Method<Value[]>>> = {
  index: (list, [item]) => {
    const at = list.findIndex((entry) => isEqual(entry, item))
    if (at < 0) throw new Error('it looked for the place of something that is not in the list')
    return at
  },
  count: (list, [item]) => list.filter((entry) => isEqual(entry, item)).length,
  copy: (list) => [...list],
}

function bound<Self>(
  methods: Readonly<Record<string, Method<Self>>>,
  self: Self,
  name: string,
): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  return method === undefined ? undefined : ({ args, named }) => method(self, args, named)
}

/** The method of that name, bound to the value; undefined where there is none. */
export function methodOf(value: Value, name: string): Callable | undefined {
  if (typeof value === 'string') return bound(ofText, value, name)
  if (isDict(value)) return bound(ofDict, value, name)
  return isList(value) ? bound(ofList, value, name) : undefined
}

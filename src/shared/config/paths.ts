/** Immutable JSON documents, read and written at dotted keys such as `optimization.learningRate`. */

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns undefined for a missing key; null is a value. */
export const valueAt = (json: unknown, key: string): unknown =>
  key.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json)

/** Sets a value; undefined removes the key, and sections left empty. */
export function withValue(json: JsonObject, key: string, value: unknown): JsonObject {
  const [name = '', ...rest] = key.split('.')
  const { [name]: inner, ...others } = json
  const next = rest.length === 0 ? value : within(inner, rest.join('.'), value)
  if (next === undefined) return others
  // An existing key keeps its place in the file.
  return { ...json, [name]: next }
}

function within(inner: unknown, key: string, value: unknown): JsonObject | undefined {
  const changed = withValue(isObject(inner) ? inner : {}, key, value)
  return Object.keys(changed).length === 0 ? undefined : changed
}

export const withValues = (json: JsonObject, values: JsonObject): JsonObject =>
  Object.entries(values).reduce((changed, [key, value]) => withValue(changed, key, value), json)

/** Applies changes by dotted key. Another algorithm starts from its own default settings. */
export function withChanges(config: JsonObject, changes: JsonObject): JsonObject {
  const id = changes['algorithm.id']
  const isNewAlgorithm = id !== undefined && id !== valueAt(config, 'algorithm.id')
  return withValues(isNewAlgorithm ? withValue(config, 'algorithm.settings', undefined) : config, changes)
}

/** Compares by value; the order of keys does not matter. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isEqual(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => isEqual(a[key], b[key]))
}

/** Names the entries of a list below its key; null: the list is one value. */
type EntryKey = (list: readonly unknown[], key: string) => readonly string[] | null

/** Yields values by dotted key, in document order. An empty section is a value of its own. */
export function* leaves(
  json: unknown,
  entriesOf: EntryKey = () => null,
  key = '',
): Generator<readonly [key: string, value: unknown]> {
  const inside = inner(json, entriesOf, key)
  if (inside === null || (inside.length === 0 && key !== '')) yield [key, json]
  else for (const [at, value] of inside) yield* leaves(value, entriesOf, at)
}

/** Null for a value. */
function inner(json: unknown, entriesOf: EntryKey, key: string): (readonly [string, unknown])[] | null {
  if (Array.isArray(json))
    return entriesOf(json, key)?.map((at, i) => [at, json[i] as unknown] as const) ?? null
  if (!isObject(json)) return null
  return Object.entries(json).map(([name, value]) => [key === '' ? name : `${key}.${name}`, value] as const)
}

/** Names entries `rewards[0]`; lists of objects are opened, others are one value. */
export const byPlace: EntryKey = (list, key) =>
  list.some(isObject) ? list.map((_, i) => `${key}[${i}]`) : null

/** Names entries `rewards.correct`: by their name, else by their kind, else by their position from 1. */
export const byName: EntryKey = (list, key) =>
  list.length === 0 ? null : list.map((entry, i) => `${key}.${nameOf(entry) ?? String(i + 1)}`)

function nameOf(entry: unknown): string | undefined {
  const name = isObject(entry) ? (entry['name'] ?? entry['function']) : undefined
  return typeof name === 'string' ? name : undefined
}

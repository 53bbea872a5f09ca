/** JSON documents that nobody changes in place: reading and writing at keys such as `optimization.learningRate`. */

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** undefined where nothing is said; null is a value. */
export const valueAt = (json: unknown, key: string): unknown =>
  key.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json)

/** undefined takes the key away, and what is empty without it. */
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

/** By what they say; the order of keys does not matter. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isEqual(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => isEqual(a[key], b[key]))
}

/** What a golden case is and how an answer is compared with it. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export interface GoldenCase {
  readonly name: string
  readonly function: string
  readonly note?: string
  readonly inputs: JsonObject
  readonly expected: JsonObject
}

/** Runs one function on a case's inputs and answers in the shape of its `expected`. */
export interface Contract {
  run(inputs: JsonObject, golden: GoldenCase): unknown
  /** Relative and absolute; 1e-9 for f64 arithmetic, 1e-6 where we store f32. */
  readonly tolerance: number
}

export const exact = (run: Contract['run']): Contract => ({ run, tolerance: 1e-9 })
export const single = (run: Contract['run']): Contract => ({ run, tolerance: 1e-6 })

/** Paths at which `actual` is not `expected`; null in `expected` stands for minus infinity or missing. */
export function differences(actual: unknown, expected: Json, tolerance: number, path = '$'): string[] {
  if (expected === null) return isNothing(actual) ? [] : [`${path}: expected nothing`]
  if (typeof expected === 'string') return actual === expected ? [] : [`${path}: expected ${expected}`]
  if (typeof expected !== 'object') return numberDifference(actual, expected, tolerance, path)
  if (isArray(expected)) return arrayDifferences(actual, expected, tolerance, path)
  return fieldDifferences(actual, expected, tolerance, path)
}

function fieldDifferences(actual: unknown, expected: JsonObject, tolerance: number, path: string): string[] {
  const fields = (actual ?? {}) as Record<string, unknown>
  return Object.entries(expected).flatMap(([key, value]) =>
    differences(fields[key], value, tolerance, `${path}.${key}`),
  )
}

const isNothing = (value: unknown): boolean => value === null || value === undefined || value === -Infinity

function numberDifference(
  actual: unknown,
  expected: number | boolean,
  tolerance: number,
  path: string,
): string[] {
  const [got, want] = [Number(actual), Number(expected)]
  const isClose = actual !== null && Math.abs(got - want) <= tolerance * Math.max(1, Math.abs(want))
  return isClose ? [] : [`${path}: expected ${String(expected)}, got ${got}`]
}

function arrayDifferences(
  actual: unknown,
  expected: readonly Json[],
  tolerance: number,
  path: string,
): string[] {
  const items = isListLike(actual) ? Array.from(actual) : null
  if (items?.length !== expected.length)
    return [`${path}: expected ${expected.length} items, got ${items?.length ?? 'no list'}`]
  return expected.flatMap((value, i) => differences(items[i], value, tolerance, `${path}[${i}]`))
}

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value)
const isListLike = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || ArrayBuffer.isView(value)

export const asObject = (value: Json | undefined): JsonObject => {
  if (typeof value !== 'object' || value === null || isArray(value)) throw new Error('Expected an object.')
  return value
}

export const asList = (value: Json | undefined): readonly Json[] => {
  if (value === undefined || value === null || typeof value !== 'object' || !isArray(value)) {
    throw new Error('Expected a list.')
  }
  return value
}

export const asNumber = (value: Json | undefined): number => {
  if (typeof value !== 'number') throw new Error(`Expected a number, got ${JSON.stringify(value)}.`)
  return value
}

export const asNumbers = (value: Json | undefined): number[] => asList(value).map(Number)
const asFloats = (value: Json | undefined): Float64Array => Float64Array.from(asNumbers(value))
export const asFloatRows = (value: Json | undefined): Float64Array[] => asList(value).map(asFloats)
export const asMaskRows = (value: Json | undefined): Uint8Array[] =>
  asList(value).map((row) => Uint8Array.from(asNumbers(row)))
export const asTurnRows = (value: Json | undefined): Int32Array[] =>
  asList(value).map((row) => Int32Array.from(asNumbers(row)))

/** The value of the only key, for contracts whose key is not fixed by the description. */
export const onlyValue = (object: JsonObject): Json => {
  const [value, ...others] = Object.values(object)
  if (value === undefined || others.length > 0) throw new Error('Expected exactly one key.')
  return value
}

/** `value` under the only key of the expected object. */
export const underOnlyKey = (golden: GoldenCase, value: unknown): Record<string, unknown> => {
  const [key] = Object.keys(golden.expected)
  return key === undefined ? {} : { [key]: value }
}

export const asText = (value: Json | undefined): string => {
  if (typeof value !== 'string') throw new Error(`Expected text, got ${JSON.stringify(value)}.`)
  return value
}

/** What goes along when a run is given other rows: held-out rows, prompt and columns of another task would measure that. */
import { usualSplit } from '#renderer/features/data/preparation.ts'
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'

interface DataSet {
  readonly versions: readonly { readonly directory: string }[]
}

/** Only between versions of one data set do held-out rows of their own stay. */
export function withData(config: JsonObject, data: JsonObject, dataSets: readonly DataSet[]): JsonObject {
  const before = valueAt(config, 'data.heldOut')
  const setOf = (train: unknown) =>
    dataSets.find(({ versions }) => versions.some(({ directory }) => directory === train))
  const set = setOf(data['train'])
  const isSameSet = set !== undefined && set === setOf(valueAt(config, 'data.train'))
  return { ...config, data: isSameSet && typeof before === 'string' ? { ...data, heldOut: before } : data }
}

/** Rows from elsewhere; undefined: still to be chosen. */
export function withRows(
  config: JsonObject,
  train: string | { readonly episodes: number } | undefined,
): JsonObject {
  if (train === undefined) return withValue(config, 'data', undefined)
  return { ...config, data: typeof train === 'string' ? { train, heldOut: usualSplit } : { train } }
}

/**
 * Another path, letter by letter: what was typed for the rows stays while it is corrected, a file of held-out rows, which
 * went with the file before, does not.
 */
export function withTypedRows(config: JsonObject, train: string): JsonObject {
  const next = withValue(config, 'data.train', train)
  const isFile = typeof valueAt(config, 'data.heldOut') === 'string'
  return isFile ? withValue(next, 'data.heldOut', usualSplit) : next
}

/** An adapter or checkpoint to begin with: its own rank, scale and projections count, unless they are to be merged. */
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'

const ownKeys = ['rank', 'alpha', 'rsLora', 'targets'] as const

/** undefined: the adapter begins fresh. */
export function startingFrom(config: JsonObject, initial: string | undefined): JsonObject {
  const started = withValue(config, 'adapter.initial', initial)
  if (initial === undefined || valueAt(config, 'adapter.mergeConfigs') === true) return started
  return ownKeys.reduce((kept, key) => withValue(kept, `adapter.${key}`, undefined), started)
}

/** Where a completion ends by the rules of this project, whatever a server made of them. */
import type { GenerateOptions, StopReason } from '#engine/policy.ts'

export interface CompletionEnd {
  /** Tokens of the completion, the one that ends it included. */
  readonly length: number
  readonly stopReason: StopReason
}

/** The first end among the ids so far; null where it has to go on. `limit`: most tokens it may have. */
export function endOf(
  ids: readonly number[],
  limit: number,
  { sampling, decode }: Pick<GenerateOptions, 'sampling' | 'decode'>,
): CompletionEnd | null {
  const { stopIds, stopStrings } = sampling
  const stopId = ids.findIndex((id) => stopIds.includes(id)) + 1
  const reach = Math.min(stopId === 0 ? Infinity : stopId, ids.length, limit)
  const stopString = decode === undefined ? 0 : lengthUntil(stopStrings, ids.slice(0, reach), decode)
  const ends: readonly (CompletionEnd & { readonly isThere: boolean })[] = [
    { isThere: stopId > 0, length: stopId, stopReason: 'stop-id' },
    { isThere: stopString > 0, length: stopString, stopReason: 'stop-string' },
    { isThere: ids.length >= limit, length: limit, stopReason: 'length' },
  ]
  const [first] = ends.filter(({ isThere }) => isThere).sort((a, b) => a.length - b.length)
  return first === undefined ? null : { length: first.length, stopReason: first.stopReason }
}

/** Fewest ids whose text contains one of the strings; 0 where not even all of them do. */
function lengthUntil(
  strings: readonly string[],
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
): number {
  const contains = (count: number): boolean => {
    const text = decode(ids.slice(0, count))
    return strings.some((stop) => text.includes(stop))
  }
  if (strings.length === 0 || !contains(ids.length)) return 0
  let [without, within] = [0, ids.length]
  while (within - without > 1) {
    const middle = (without + within) >> 1
    if (contains(middle)) within = middle
    else without = middle
  }
  return within
}

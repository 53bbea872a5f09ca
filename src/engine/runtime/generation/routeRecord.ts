/** Reads which experts the tokens of a row went through from the records that caches and passes hold. */
import { isRecord, type LayerState } from '#engine/models/layerStates.ts'
import type { Routes } from '#engine/policy.ts'

/** Positions of a row that lie together; `of` reads a state by its place in the list, [positions, C]. */
export interface RecordedPositions {
  readonly count: number
  readonly of: (state: number) => Float32Array
}

/** The experts of these positions, one part after the other; null where the states are no records. */
export function routesOf(states: readonly LayerState[], parts: readonly RecordedPositions[]): Routes | null {
  const records = states.flatMap((state, index) => (isRecord(state) ? [{ index, each: state.channels }] : []))
  const width = records.reduce((sum, { each }) => sum + each, 0)
  if (width === 0) return null
  const experts = new Uint16Array(parts.reduce((sum, { count }) => sum + count, 0) * width)
  let start = 0
  for (const { index, each } of records) {
    let at = start
    for (const { count, of } of parts) {
      const record = of(index)
      for (let position = 0; position < count; position++, at += width) {
        experts.set(record.subarray(position * each, (position + 1) * each), at)
      }
    }
    start += each
  }
  return { width, experts }
}

/** Graph inputs by which packed tokens stand in the parts of causal attention. */
import { type Dim, product } from '../graph/shape.ts'
import { input } from '../graph/value.ts'
import { CAUSAL_PARTS } from '../ops/attention.ts'
import type { RowMap } from '../ops/gather.ts'
import type { HeadShape } from './config.ts'

/** Graph inputs of one part of causal attention, for layers with this number of key-value heads. */
export const partNames = (part: number, kvHeads: number) => ({
  querySlots: `query slots ${part} of ${kvHeads}` as const,
  keySlots: `key slots ${part} of ${kvHeads}` as const,
})
/** Graph inputs: the places of rows in all parts, the further slots of keys that more queries see than there are parts, and which keys these are. */
export const keyNames = (kvHeads: number) => ({
  queries: `query rows of ${kvHeads}` as const,
  keys: `key rows of ${kvHeads}` as const,
  shared: `shared key slots of ${kvHeads}` as const,
  places: `shared keys of ${kvHeads}` as const,
})
type PartNames = ReturnType<typeof partNames>
type KeyNames = ReturnType<typeof keyNames>
/** Graph input: what the queries of a part see through a window of `ModelConfig.windows`. */
export const maskName = (window: number, part: number): `mask ${number} of window ${number}` =>
  `mask ${part} of window ${window}`
export type PartName = PartNames[keyof PartNames] | KeyNames[keyof KeyNames] | ReturnType<typeof maskName>

/**
 * The packed tokens stand in as many parts of Q slots as causal attention has; Bᵢ sequences have tokens of their own in
 * part i. R of the keys are of a prefix that up to M sequences share.
 */
export function partInputs({ heads, kvHeads }: HeadShape, window: number) {
  const group = heads / kvHeads
  const names = keyNames(kvHeads)
  const parts = Array.from({ length: CAUSAL_PARTS }, (_, part) => partNames(part, kvHeads))
  const slotsOf = (name: string, part: number, length: Dim) =>
    input(name, 'int64', [`B${String(part)}`, kvHeads, length])
  const queryMap: RowMap = {
    slots: parts.map(({ querySlots }, part) => slotsOf(querySlots, part, product([group, 'Q']))),
    rows: input(names.queries, 'int64', [product([heads, 'N'])]),
  }
  const keyMap: RowMap = {
    slots: parts.map(({ keySlots }, part) => slotsOf(keySlots, part, product([part + 1, 'Q']))),
    rows: input(names.keys, 'int64', [CAUSAL_PARTS, product([kvHeads, 'N'])]),
    shared: {
      slots: input(names.shared, 'int64', ['M', product([kvHeads, 'R'])]),
      places: input(names.places, 'int64', [product([kvHeads, 'N'])]),
    },
  }
  const masks = parts.map((_, part) =>
    input(maskName(window, part), 'float32', [product([group, 'Q']), product([part + 1, 'Q'])]),
  )
  return { queryMap, keyMap, masks }
}

/** The index tables of `RowMap` (ops/gather.ts) for packed rows that stand in several slots. */
import { type Feed, int64s } from './session.ts'

/** Place of the first head of a packed row; its other heads follow at `stride`. */
export interface Slot {
  readonly first: number
  readonly stride: number
}

export interface SlotTables {
  /** [U, N·K]: `RowMap.rows`. */
  readonly rows: Feed
  /** [M, R·K] and [N·K]: `SharedRows`. */
  readonly slots: Feed
  readonly places: Feed
}

/**
 * found: the slots of each of N packed rows; `few`: U, how many a row may have without being among the R shared ones;
 * `heads`: K; `end`: the number of slots.
 */
export function slotTables(
  found: readonly (readonly Slot[])[],
  { few, heads, end }: { readonly few: number; readonly heads: number; readonly end: number },
): SlotTables {
  const rows = found.map((slots) => (slots.length > few ? [] : slots))
  const many = [...found.keys()].filter((row) => found[row]!.length > few)
  const most = Math.max(1, ...many.map((row) => found[row]!.length))
  // Keeps at least one row, of nothing: a table must not be empty.
  const shared = many.length > 0 ? many.map((row) => found[row]!) : [[]]
  const places = new Int32Array(found.length * heads).fill(shared.length * heads)
  many.forEach((row, index) => {
    for (let head = 0; head < heads; head++) places[row * heads + head] = index * heads + head
  })
  return {
    rows: int64s(table(rows, few, { heads, end }), [few, rows.length * heads]),
    slots: int64s(table(shared, most, { heads, end }), [most, shared.length * heads]),
    places: int64s(places, [places.length]),
  }
}

/** [most, R·K] the slots of R rows' heads, `end` where a row has fewer. */
function table(
  rows: readonly (readonly Slot[])[],
  most: number,
  { heads, end }: { readonly heads: number; readonly end: number },
): Int32Array {
  const filled = new Int32Array(most * rows.length * heads).fill(end)
  rows.forEach((slots, row) => {
    slots.forEach(({ first, stride }, at) => {
      const start = (at * rows.length + row) * heads
      for (let head = 0; head < heads; head++) filled[start + head] = first + head * stride
    })
  })
  return filled
}

/** Which slots and new positions a pass may see, as numbers added to the attention scores: 0 or `HIDDEN`. */
import { HIDDEN } from '#engine/ops/attention.ts'
import { slotsBehind } from '#engine/models/cacheShape.ts'
import type { AttentionWindow } from '#engine/models/config.ts'
import type { DecodePass } from './decoder.ts'

/** New positions behind those of a cache. */
export interface PositionsBehind {
  /** [B] positions of each row before the new ones. */
  readonly lengths: readonly number[]
  /** T */
  readonly length: number
  /** P: position p lies in slot p mod P. */
  readonly slots: number
}

/**
 * Mask of a pass, [B, T, P+T]: each new position sees the slots of earlier positions, the new positions before it and
 * itself, of all these as many as the window says. Padding on the right needs nothing more, since no real position sees what
 * comes after it.
 */
export function passMask({ lengths, length, slots }: PositionsBehind, window: AttentionWindow): Float32Array {
  const width = slots + length
  const mask = new Float32Array(lengths.length * length * width)
  for (let query = 0; query < lengths.length * length; query++) {
    const filled = lengths[Math.floor(query / length)]!
    const own = query % length
    const before = (window ?? Infinity) - 1 - own
    const seen = Math.max(0, Math.min(before, filled, slots))
    const at = query * width
    // What is seen ends before the slot of the next position, where what is hidden begins, and may go on from the first slot.
    const from = seen < slots ? filled % slots : 0
    const to = from + slots - seen
    mask.fill(HIDDEN, at + from, at + Math.min(to, slots))
    mask.fill(HIDDEN, at, at + Math.max(0, to - slots))
    mask.fill(HIDDEN, at + slots, at + slots + Math.max(0, -before))
    mask.fill(HIDDEN, at + slots + own + 1, at + width)
  }
  return mask
}

/** What the new positions of a pass see through a window. */
export function maskThrough(
  { cache, rows, length, mask }: DecodePass,
  window: AttentionWindow,
): Float32Array {
  if (mask && window === null) return mask
  const lengths = Array.from({ length: rows }, (_, row) => cache.lengthOf(row))
  return passMask({ lengths, length, slots: slotsBehind(window, cache.capacity) }, window)
}

/**
 * Mask of decode steps of one token, [rows, 1, capacity+1]: a row sees its filled slots and the new position. A step changes few
 * entries of a row, so the mask is kept and edited, never rebuilt.
 */
export class DecodeMask {
  readonly #width: number
  readonly #data: Float32Array

  constructor(rows: number, capacity: number) {
    this.#width = capacity + 1
    this.#data = new Float32Array(rows * this.#width)
  }

  /** Shows the first `length` slots of `row`, hides the others. */
  show(row: number, length: number): void {
    const start = row * this.#width
    this.#data.fill(0, start, start + length)
    this.#data.fill(HIDDEN, start + length, start + this.#width - 1)
  }

  /** Shows one more slot of `row`. */
  reveal(row: number, slot: number): void {
    this.#data[row * this.#width + slot] = 0
  }

  /** View of the first `rows` rows. */
  view(rows: number): Float32Array {
    return this.#data.subarray(0, rows * this.#width)
  }
}

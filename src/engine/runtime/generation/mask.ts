/** Which slots and new positions a pass may see, as numbers added to the attention scores: 0 or `HIDDEN`. */
import { HIDDEN } from '#engine/ops/attention.ts'
import type { DecodePass } from './decoder.ts'

/**
 * Mask of a pass over `length` new positions behind `cached` filled slots, [rows, length, cached+length]: each
 * position sees every slot, the new positions before it and itself. Padding on the right needs nothing more, since no
 * real position sees what comes after it.
 */
export function causalMask(rows: number, length: number, cached: number): Float32Array {
  const width = cached + length
  const mask = new Float32Array(rows * length * width)
  for (let position = 0; position < length; position++) {
    mask.fill(HIDDEN, position * width + cached + position + 1, (position + 1) * width)
  }
  const block = mask.subarray(0, length * width)
  for (let row = 1; row < rows; row++) mask.set(block, row * block.length)
  return mask
}

/**
 * Mask of decode steps, [rows, 1, capacity+1]: a row sees its filled slots and the new position. A step changes few
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

  /** Of the first `rows` rows with `length` new positions each, [rows, length, capacity+length]; a view for one. */
  behind(rows: number, length: number): Float32Array {
    if (length === 1) return this.#data.subarray(0, rows * this.#width)
    const capacity = this.#width - 1
    const mask = causalMask(rows, length, capacity)
    for (let position = 0; position < rows * length; position++) {
      const start = Math.floor(position / length) * this.#width
      mask.set(this.#data.subarray(start, start + capacity), position * (capacity + length))
    }
    return mask
  }
}

/** The mask of a pass, and where its positions are. */
export interface SeenPositions extends Pick<DecodePass, 'mask' | 'rows' | 'length' | 'positions'> {
  /** P, of each row, before the new positions. */
  readonly slots: number
}

/**
 * A pass's mask for layers whose queries see `window` positions, themselves included: slot j holds position j, so the
 * slots and new positions before the window are hidden too.
 */
export function windowMask(
  { mask, rows, length, positions, slots }: SeenPositions,
  window: number,
): Float32Array {
  const width = slots + length
  const narrowed = mask.slice()
  for (let query = 0; query < rows * length; query++) {
    const first = positions[query]! + 1 - window
    if (first <= 0) continue
    narrowed.fill(HIDDEN, query * width, query * width + Math.min(first, slots))
    const row = Math.floor(query / length) * length
    for (let key = 0; key < length; key++) {
      if (positions[row + key]! < first) narrowed[query * width + slots + key] = HIDDEN
    }
  }
  return narrowed
}

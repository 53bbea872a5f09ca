/**
 * Keys and values of rows of different lengths, laid out so that the first B rows are one contiguous graph input. Keys are
 * rotated before they are written, so the order of slots does not matter.
 */
import { AppError } from '#shared/errors.ts'
import { cacheBytes, layerSlots, type CacheShape } from '#engine/models/cacheShape.ts'

/** Keys and values of the T new positions of a pass over B rows, one array per layer: [B, K, T, C]. */
export interface NewSlots {
  readonly keys: readonly Float32Array[]
  readonly values: readonly Float32Array[]
}

/** Positions of a pass's output to keep: the first `count` of `row`, where each row has `length`. */
interface SlotRange {
  readonly row: number
  readonly length: number
  readonly count: number
}

function allocate(sizes: readonly number[]): Float32Array[] {
  try {
    return sizes.map((size) => new Float32Array(size))
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const size = sizes.reduce((sum, count) => sum + count, 0)
    const gigabytes = ((size * Float32Array.BYTES_PER_ELEMENT) / 2 ** 30).toFixed(1)
    throw new AppError(
      'runtime/out-of-memory',
      `No memory for ${gigabytes} GiB of cached keys.`,
      'Generate fewer rows at once, or shorter completions.',
      cause,
    )
  }
}

/**
 * One array per layer for keys and one for values, [rows, K, P, C] with P of `slotsBehind` the layer's window. Position p
 * lies in slot p mod P, over the one that has left the window. Slots that no position has filled hold whatever was there
 * before (finite), so the attention mask must hide them.
 */
export class KvCache {
  readonly shape: CacheShape
  #rows: number
  #capacity: number
  /** [layers] P */
  #slots: readonly number[]
  #keys: Float32Array[]
  #values: Float32Array[]
  #lengths: Int32Array

  constructor(shape: CacheShape, rows: number, capacity: number) {
    this.shape = shape
    this.#rows = rows
    this.#capacity = capacity
    this.#slots = layerSlots(shape, capacity)
    const sizes = this.#slots.map((slots) => this.#sizeOf(rows, slots))
    this.#keys = allocate(sizes)
    this.#values = allocate(sizes)
    this.#lengths = new Int32Array(rows)
  }

  /** Number of rows allocated. */
  get rows(): number {
    return this.#rows
  }

  /** The most positions of a row. */
  get capacity(): number {
    return this.#capacity
  }

  get sizeBytes(): number {
    return cacheBytes(this.shape, this.#rows, this.#capacity)
  }

  /** Positions of `row`, of which a layer holds the latest P. */
  lengthOf(row: number): number {
    return this.#lengths[row]!
  }

  /** Slots P of a layer. */
  slotsOf(layer: number): number {
    return this.#slots[layer]!
  }

  /** View of the first `rows` rows of a layer's keys, without a copy: [rows, K, P, C]. */
  keys(layer: number, rows: number): Float32Array {
    return this.#keys[layer]!.subarray(0, this.#sizeOf(rows, this.slotsOf(layer)))
  }

  /** View of the first `rows` rows of a layer's values, without a copy: [rows, K, P, C]. */
  values(layer: number, rows: number): Float32Array {
    return this.#values[layer]!.subarray(0, this.#sizeOf(rows, this.slotsOf(layer)))
  }

  /** Changes the capacity, keeping what is filled. One layer is copied at a time to bound the peak of memory. */
  resize(capacity: number): void {
    const longest = this.#lengths.reduce((most, length) => Math.max(most, length), 0)
    if (capacity < longest)
      throw new Error(`Expected a capacity of at least ${longest} slots, got ${capacity}.`)
    const [before, after] = [this.#slots, layerSlots(this.shape, capacity)]
    const resized = (old: Float32Array, layer: number) => {
      const [from, to] = [before[layer]!, after[layer]!]
      if (from === to) return old
      const [fresh] = allocate([this.#sizeOf(this.#rows, to)])
      for (const [row, length] of this.#lengths.entries()) {
        this.#copyRow({ data: old, row, slots: from }, { data: fresh!, row, slots: to }, length)
      }
      return fresh!
    }
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.#keys[layer] = resized(this.#keys[layer]!, layer)
      this.#values[layer] = resized(this.#values[layer]!, layer)
    }
    this.#capacity = capacity
    this.#slots = after
  }

  /** Writes new positions behind those of `row`. */
  append(row: number, slots: NewSlots, range: SlotRange): void {
    const length = this.#lengths[row]!
    if (length + range.count > this.#capacity) {
      throw new Error(`Expected at most ${this.#capacity} slots in row ${row}, got ${length + range.count}.`)
    }
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const to = { row, slots: this.slotsOf(layer) }
      this.#append({ ...to, data: this.#keys[layer]! }, slots.keys[layer]!, range)
      this.#append({ ...to, data: this.#values[layer]! }, slots.values[layer]!, range)
    }
    this.#lengths[row] = length + range.count
  }

  /** Makes `row` a copy of a row of `source`, which may be this cache. */
  copyRow(row: number, source: KvCache, sourceRow: number): void {
    const length = source.lengthOf(sourceRow)
    if (length > this.#capacity) throw new Error(`Expected at most ${this.#capacity} slots, got ${length}.`)
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const from = { row: sourceRow, slots: source.slotsOf(layer) }
      const to = { row, slots: this.slotsOf(layer) }
      const [keys, values] = [source.#keys[layer]!, source.#values[layer]!]
      this.#copyRow({ ...from, data: keys }, { ...to, data: this.#keys[layer]! }, length)
      this.#copyRow({ ...from, data: values }, { ...to, data: this.#values[layer]! }, length)
    }
    this.#lengths[row] = length
  }

  /** Forgets the slots of `row`. */
  clearRow(row: number): void {
    this.#lengths[row] = 0
  }

  #sizeOf(rows: number, slots: number): number {
    return rows * this.shape.kvHeads * slots * this.shape.headDim
  }

  /** Slots stay where they are: both rows have as many as the window takes, or all of the `length` positions in order. */
  #copyRow(from: CacheRow, to: CacheRow, length: number): void {
    const { kvHeads, headDim } = this.shape
    const filled = Math.min(length, from.slots) * headDim
    if (filled === 0) return
    for (let head = 0; head < kvHeads; head++) {
      const start = (from.row * kvHeads + head) * from.slots * headDim
      to.data.set(from.data.subarray(start, start + filled), (to.row * kvHeads + head) * to.slots * headDim)
    }
  }

  /** The latest of the new positions, from the slot of the first of them on and, past the last slot, from the first one. */
  #append({ data, row, slots }: CacheRow, source: Float32Array, range: SlotRange): void {
    const { kvHeads, headDim } = this.shape
    const before = this.#lengths[row]!
    for (let next = Math.max(0, range.count - slots); next < range.count;) {
      const slot = (before + next) % slots
      const count = Math.min(range.count - next, slots - slot)
      for (let head = 0; head < kvHeads; head++) {
        const from = ((range.row * kvHeads + head) * range.length + next) * headDim
        const to = ((row * kvHeads + head) * slots + slot) * headDim
        data.set(source.subarray(from, from + count * headDim), to)
      }
      next += count
    }
  }
}

/** A row of a layer's keys or values. */
interface CacheRow {
  readonly data: Float32Array
  readonly row: number
  /** P */
  readonly slots: number
}

/** Keys and values of rows of different lengths, laid out so that the first B rows are one contiguous graph input. */
import { AppError } from '#shared/errors.ts'

export interface CacheShape {
  readonly layers: number
  /** K */
  readonly kvHeads: number
  /** C */
  readonly headDim: number
}

/** Keys and values of the T new positions of a pass over B rows, one array per layer: [B, K, T, C]. */
export interface NewSlots {
  readonly keys: readonly Float32Array[]
  readonly values: readonly Float32Array[]
}

/** Which positions of a pass's output to keep: `count` of the first positions of `row`, where each row has `length`. */
interface SlotRange {
  readonly row: number
  readonly length: number
  readonly count: number
}

const FLOAT_BYTES = 4

function allocate(layers: number, size: number): Float32Array[] {
  try {
    return Array.from({ length: layers }, () => new Float32Array(size))
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const gigabytes = ((layers * size * FLOAT_BYTES) / 2 ** 30).toFixed(1)
    throw new AppError(
      'runtime/out-of-memory',
      `No memory for ${gigabytes} GiB of cached keys.`,
      'Generate fewer rows at once, or shorter completions.',
      cause,
    )
  }
}

/**
 * One array per layer for keys and one for values, [rows, K, capacity, C]. Slots from a row's length on hold
 * whatever was there before (finite), so the attention mask must hide them.
 */
export class KvCache {
  readonly shape: CacheShape
  #rows: number
  #capacity: number
  #keys: Float32Array[]
  #values: Float32Array[]
  #lengths: Int32Array

  constructor(shape: CacheShape, rows: number, capacity: number) {
    this.shape = shape
    this.#rows = rows
    this.#capacity = capacity
    const size = rows * shape.kvHeads * capacity * shape.headDim
    this.#keys = allocate(shape.layers, size)
    this.#values = allocate(shape.layers, size)
    this.#lengths = new Int32Array(rows)
  }

  /** Rows allocated. */
  get rows(): number {
    return this.#rows
  }

  /** Slots of each row. */
  get capacity(): number {
    return this.#capacity
  }

  get sizeBytes(): number {
    return 2 * this.shape.layers * this.#rows * this.#rowSize * FLOAT_BYTES
  }

  /** Filled slots of `row`. */
  lengthOf(row: number): number {
    return this.#lengths[row]!
  }

  /** View of the first `rows` rows of a layer's keys, without a copy: [rows, K, capacity, C]. */
  keys(layer: number, rows: number): Float32Array {
    return this.#keys[layer]!.subarray(0, rows * this.#rowSize)
  }

  /** View of the first `rows` rows of a layer's values, without a copy: [rows, K, capacity, C]. */
  values(layer: number, rows: number): Float32Array {
    return this.#values[layer]!.subarray(0, rows * this.#rowSize)
  }

  /** Changes the slots of each row, keeping what is filled. One layer is copied at a time to bound the peak of memory. */
  resize(capacity: number): void {
    const longest = this.#lengths.reduce((most, length) => Math.max(most, length), 0)
    if (capacity < longest)
      throw new Error(`Expected a capacity of at least ${longest} slots, got ${capacity}.`)
    const resized = (old: Float32Array) => {
      const [fresh] = allocate(1, this.#rows * this.shape.kvHeads * capacity * this.shape.headDim)
      for (let row = 0; row < this.#rows; row++) this.#copySlots(old, row, { data: fresh!, row, capacity })
      return fresh!
    }
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.#keys[layer] = resized(this.#keys[layer]!)
      this.#values[layer] = resized(this.#values[layer]!)
    }
    this.#capacity = capacity
  }

  /** Writes new positions behind the filled slots of `row`. */
  append(row: number, slots: NewSlots, range: SlotRange): void {
    const length = this.#lengths[row]!
    if (length + range.count > this.#capacity) {
      throw new Error(`Expected at most ${this.#capacity} slots in row ${row}, got ${length + range.count}.`)
    }
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.#appendLayer(this.#keys[layer]!, row, slots.keys[layer]!, range)
      this.#appendLayer(this.#values[layer]!, row, slots.values[layer]!, range)
    }
    this.#lengths[row] = length + range.count
  }

  /** Makes `row` a copy of a row of `source`, which may be this cache. */
  copyRow(row: number, source: KvCache, sourceRow: number): void {
    const length = source.lengthOf(sourceRow)
    if (length > this.#capacity) throw new Error(`Expected at most ${this.#capacity} slots, got ${length}.`)
    const capacity = this.#capacity
    for (let layer = 0; layer < this.shape.layers; layer++) {
      source.#copySlots(source.#keys[layer]!, sourceRow, { data: this.#keys[layer]!, row, capacity })
      source.#copySlots(source.#values[layer]!, sourceRow, { data: this.#values[layer]!, row, capacity })
    }
    this.#lengths[row] = length
  }

  /** Forgets the slots of `row`. */
  clearRow(row: number): void {
    this.#lengths[row] = 0
  }

  get #rowSize(): number {
    return this.shape.kvHeads * this.#capacity * this.shape.headDim
  }

  /** Copies the filled slots of `row` of `from` (laid out like this cache) into a row of another layout. */
  #copySlots(
    from: Float32Array,
    row: number,
    to: { data: Float32Array; row: number; capacity: number },
  ): void {
    const { kvHeads, headDim } = this.shape
    const filled = this.#lengths[row]! * headDim
    if (filled === 0) return
    for (let head = 0; head < kvHeads; head++) {
      const start = (row * kvHeads + head) * this.#capacity * headDim
      to.data.set(from.subarray(start, start + filled), (to.row * kvHeads + head) * to.capacity * headDim)
    }
  }

  #appendLayer(data: Float32Array, row: number, source: Float32Array, range: SlotRange): void {
    const { kvHeads, headDim } = this.shape
    for (let head = 0; head < kvHeads; head++) {
      const from = (range.row * kvHeads + head) * range.length * headDim
      const to = ((row * kvHeads + head) * this.#capacity + this.#lengths[row]!) * headDim
      data.set(source.subarray(from, from + range.count * headDim), to)
    }
  }
}

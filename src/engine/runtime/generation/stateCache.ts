/**
 * Holds what rows of different lengths keep between passes (models/layerStates.ts), laid out so that the first B rows are one
 * contiguous graph input. Keys are rotated before they are written, so the order of slots does not matter.
 */
import { AppError } from '#shared/errors.ts'
import { slotsOf, stateBytes, type LayerState } from '#engine/models/layerStates.ts'

/** Additions of the T new positions of a pass over B rows to each state, [B, H, T, C]; matrices behind them, [B, H, P, C]. */
export type NewSlots = readonly Float32Array[]

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
 * One array for each state, [rows, H, P, C]. Of a state of slots, position p lies in slot p mod P, over the one that has left
 * the window; slots that no position has filled hold whatever was there before (finite), so the attention mask must hide
 * them. A state of the latest positions is read as a whole.
 */
export class StateCache {
  readonly states: readonly LayerState[]
  #rows: number
  #capacity: number
  /** [states] P */
  #slots: readonly number[]
  #arrays: Float32Array[]
  #lengths: Int32Array

  constructor(states: readonly LayerState[], rows: number, capacity: number) {
    this.states = states
    this.#rows = rows
    this.#capacity = capacity
    this.#slots = states.map((state) => slotsOf(state, capacity))
    this.#arrays = allocate(states.map((_, index) => this.#sizeOf(index, rows)))
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
    return stateBytes(this.states, this.#rows, this.#capacity)
  }

  /** Positions of `row`, of which a state holds the latest P. */
  lengthOf(row: number): number {
    return this.#lengths[row]!
  }

  /** View of the first `rows` rows of a state, by its place in `states`, without a copy: [rows, H, P, C]. */
  view(index: number, rows: number): { readonly data: Float32Array; readonly dims: readonly number[] } {
    const { heads, channels } = this.states[index]!
    const dims = [rows, heads, this.#slots[index]!, channels]
    return { data: this.#arrays[index]!.subarray(0, this.#sizeOf(index, rows)), dims }
  }

  /** The filled slots of a row's record, by its place in `states`, in the order of positions: [length, C]. */
  recordOf(index: number, row: number): Float32Array {
    const { channels } = this.states[index]!
    const start = row * this.#slots[index]! * channels
    return this.#arrays[index]!.subarray(start, start + this.#lengths[row]! * channels)
  }

  /** Changes the capacity, keeping what is filled. One state is copied at a time to bound the peak of memory. */
  resize(capacity: number): void {
    const longest = this.#lengths.reduce((most, length) => Math.max(most, length), 0)
    if (capacity < longest)
      throw new Error(`Expected a capacity of at least ${longest} slots, got ${capacity}.`)
    const before = this.#slots
    this.#capacity = capacity
    this.#slots = this.states.map((state) => slotsOf(state, capacity))
    for (const [index, old] of this.#arrays.entries()) {
      const [from, to] = [before[index]!, this.#slots[index]!]
      if (from === to) continue
      const [fresh] = allocate([this.#sizeOf(index, this.#rows)])
      for (const [row, length] of this.#lengths.entries()) {
        this.#copyRow(index, { data: old, row, slots: from }, { data: fresh!, row, slots: to }, length)
      }
      this.#arrays[index] = fresh!
    }
  }

  /** Writes new positions behind those of `row`. */
  append(row: number, fresh: NewSlots, range: SlotRange): void {
    const length = this.#lengths[row]!
    if (length + range.count > this.#capacity) {
      throw new Error(`Expected at most ${this.#capacity} slots in row ${row}, got ${length + range.count}.`)
    }
    for (const [index, { kind }] of this.states.entries()) {
      if (kind === 'slots') this.#appendSlots(index, row, fresh[index]!, range)
      else if (kind === 'latest') this.#appendLatest(index, row, fresh[index]!, range)
      else this.#replace(index, row, fresh[index]!, range)
    }
    this.#lengths[row] = length + range.count
  }

  /** Makes `row` a copy of a row of `source`, which may be this cache. */
  copyRow(row: number, source: StateCache, sourceRow: number): void {
    const length = source.lengthOf(sourceRow)
    if (length > this.#capacity) throw new Error(`Expected at most ${this.#capacity} slots, got ${length}.`)
    for (const index of this.states.keys()) {
      this.#copyRow(index, source.#rowOf(index, sourceRow), this.#rowOf(index, row), length)
    }
    this.#lengths[row] = length
  }

  /** Makes `row` an empty one that goes on behind a row of `source`, whose slots it sees there. */
  continueRow(row: number, source: StateCache, sourceRow: number): void {
    for (const [index, { kind }] of this.states.entries()) {
      if (kind !== 'slots') {
        this.#copyRow(index, source.#rowOf(index, sourceRow), this.#rowOf(index, row), 0)
      }
    }
    this.#lengths[row] = 0
  }

  /** Forgets the slots of `row`. */
  clearRow(row: number): void {
    this.#lengths[row] = 0
  }

  #sizeOf(index: number, rows: number): number {
    const { heads, channels } = this.states[index]!
    return rows * heads * this.#slots[index]! * channels
  }

  #rowOf(index: number, row: number): CacheRow {
    return { data: this.#arrays[index]!, row, slots: this.#slots[index]! }
  }

  /** Slots stay where they are: both rows have as many as the window takes, or all of the `length` positions in order. */
  #copyRow(index: number, from: CacheRow, to: CacheRow, length: number): void {
    const { kind, heads, channels } = this.states[index]!
    const filled = (kind === 'slots' ? Math.min(length, from.slots) : from.slots) * channels
    if (filled === 0) return
    for (let head = 0; head < heads; head++) {
      const start = (from.row * heads + head) * from.slots * channels
      to.data.set(from.data.subarray(start, start + filled), (to.row * heads + head) * to.slots * channels)
    }
  }

  /** The latest of the new positions, from the slot of the first of them on and, past the last slot, from the first one. */
  #appendSlots(index: number, row: number, source: Float32Array, range: SlotRange): void {
    const { heads, channels } = this.states[index]!
    const { data, slots } = this.#rowOf(index, row)
    const before = this.#lengths[row]!
    for (let next = Math.max(0, range.count - slots); next < range.count;) {
      const slot = (before + next) % slots
      const count = Math.min(range.count - next, slots - slot)
      for (let head = 0; head < heads; head++) {
        const from = ((range.row * heads + head) * range.length + next) * channels
        const to = ((row * heads + head) * slots + slot) * channels
        data.set(source.subarray(from, from + count * channels), to)
      }
      next += count
    }
  }

  /** A matrix is behind all positions of the pass that the row has. */
  #replace(index: number, row: number, source: Float32Array, range: SlotRange): void {
    const size = this.#sizeOf(index, 1)
    this.#arrays[index]!.set(source.subarray(range.row * size, (range.row + 1) * size), row * size)
  }

  /** The oldest positions make room for the new ones. */
  #appendLatest(index: number, row: number, source: Float32Array, range: SlotRange): void {
    const { channels } = this.states[index]!
    const { data, slots } = this.#rowOf(index, row)
    const count = Math.min(range.count, slots)
    const [start, end] = [row * slots * channels, (row + 1) * slots * channels]
    data.copyWithin(start, start + count * channels, end)
    const from = (range.row * range.length + range.count - count) * channels
    data.set(source.subarray(from, from + count * channels), end - count * channels)
  }
}

/** A row of a state's array. */
interface CacheRow {
  readonly data: Float32Array
  readonly row: number
  /** P */
  readonly slots: number
}

/**
 * The completions that grow by one token in every decode step, and their cache rows. Live rows are always the first
 * ones: when a row finishes, the last one takes its place.
 */
import type { DecodePass, PassResult } from './decodeStep.ts'
import { KvCache, type CacheShape } from './kvCache.ts'
import { DecodeMask } from './mask.ts'
import type { OpenCompletion } from './openCompletion.ts'

/** Slots are added in this unit: growing copies every row, but attention also pays for slots which are not filled. */
const CAPACITY_UNIT = 64
/** Slots given back only when at least this many, and half of all, are unused. */
const SHRINK_SLOTS = 256

/** A step without what the caller wants to know of it. */
type StepInputs = Omit<DecodePass, 'want' | 'inverseTemperature' | 'role'>

/** A completion with its first id. */
export interface Arrival {
  readonly completion: OpenCompletion
  /** One row with the prompt's slots; shared by the samples of a prompt and released with the last of them. */
  readonly prompt: KvCache
}

function roundUp(slots: number): number {
  return Math.ceil(slots / CAPACITY_UNIT) * CAPACITY_UNIT
}

export class LiveRows {
  readonly #completions: OpenCompletion[] = []
  readonly #cache: KvCache
  #mask: DecodeMask

  constructor(shape: CacheShape, rows: number) {
    this.#cache = new KvCache(shape, rows, 0)
    this.#mask = new DecodeMask(rows, 0)
  }

  get count(): number {
    return this.#completions.length
  }

  get free(): number {
    return this.#cache.rows - this.count
  }

  get sizeBytes(): number {
    return this.#cache.sizeBytes
  }

  get completions(): readonly OpenCompletion[] {
    return this.#completions
  }

  /** Takes in completions whose first id is chosen, each behind a copy of its prompt's slots. */
  enter(arrivals: readonly Arrival[]): void {
    if (arrivals.length > this.free) {
      throw new Error(`Expected at most ${this.free} arrivals, got ${arrivals.length}.`)
    }
    if (arrivals.length === 0) return
    this.#fit(arrivals.reduce((most, { prompt }) => Math.max(most, prompt.lengthOf(0) + 1), this.#longest))
    for (const { completion, prompt } of arrivals) {
      const row = this.count
      this.#cache.copyRow(row, prompt, 0)
      this.#mask.show(row, prompt.lengthOf(0))
      this.#completions.push(completion)
    }
  }

  /** What the next step computes: the latest id of every live row. */
  inputs(): StepInputs {
    const rows = this.count
    return {
      rows,
      length: 1,
      ids: Int32Array.from(this.#completions, (completion) => completion.lastId), // [B, 1]
      positions: Int32Array.from(this.#completions, (_, row) => this.#cache.lengthOf(row)), // [B, 1]
      cache: this.#cache,
      mask: this.#mask.view(rows), // [B, 1, P+1]
      last: new Int32Array(rows),
    }
  }

  /**
   * Settles a step once its ids are chosen: finished completions leave and are returned, the others keep the slot the
   * step computed.
   */
  settle(result: PassResult): OpenCompletion[] {
    const growing = [...this.#completions.keys()].filter((row) => !this.#completions[row]!.isFinished)
    const needed = growing.reduce((most, row) => Math.max(most, this.#cache.lengthOf(row) + 1), 0)
    if (needed > this.#cache.capacity) this.#resize(needed)
    for (const row of growing) {
      const slot = this.#cache.lengthOf(row)
      this.#cache.append(row, result, { row, length: 1, count: 1 })
      this.#mask.reveal(row, slot)
    }
    const finished = this.#compact()
    if (finished.length > 0 && this.count > 0) this.#fit(this.#longest)
    return finished
  }

  #compact(): OpenCompletion[] {
    const finished: OpenCompletion[] = []
    for (let row = this.count - 1; row >= 0; row--) {
      const completion = this.#completions[row]!
      if (!completion.isFinished) continue
      finished.push(completion)
      const last = this.count - 1
      if (row !== last) {
        this.#cache.copyRow(row, this.#cache, last)
        this.#mask.show(row, this.#cache.lengthOf(row))
        this.#completions[row] = this.#completions[last]!
      }
      this.#cache.clearRow(last)
      this.#completions.pop()
    }
    return finished.reverse()
  }

  /** Filled slots of the longest live row. */
  get #longest(): number {
    return this.#completions.reduce((most, _, row) => Math.max(most, this.#cache.lengthOf(row)), 0)
  }

  /** Grows to `slots`, or gives back slots where many more are unused. */
  #fit(slots: number): void {
    const capacity = this.#cache.capacity
    const fitting = roundUp(slots)
    const isWasteful = fitting * 2 <= capacity && capacity - fitting >= SHRINK_SLOTS
    if (fitting > capacity || isWasteful) this.#resize(fitting)
  }

  #resize(slots: number): void {
    const capacity = roundUp(slots)
    this.#cache.resize(capacity)
    this.#mask = new DecodeMask(this.#cache.rows, capacity)
    for (let row = 0; row < this.count; row++) this.#mask.show(row, this.#cache.lengthOf(row))
  }
}

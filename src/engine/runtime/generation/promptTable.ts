/** Prompts that live rows share: each is there once, as long as one of the rows lives. */
import type { LayerState } from '#engine/models/layerStates.ts'
import type { Routes } from '#engine/policy.ts'
import type { PassPrompts, PromptSlots } from './decoder.ts'
import { type RecordedPositions, routesOf } from './routeRecord.ts'
import { StateCache } from './stateCache.ts'

/** A prompt's one row of a cache. */
export class HostSlots implements PromptSlots {
  readonly cache: StateCache
  /** True if several rows start from it. */
  readonly isShared: boolean

  constructor(cache: StateCache, isShared: boolean) {
    this.cache = cache
    this.isShared = isShared
  }

  get length(): number {
    return this.cache.lengthOf(0)
  }

  get sizeBytes(): number {
    return this.cache.sizeBytes
  }

  get recorded(): RecordedPositions {
    return { count: this.length, of: (state) => this.cache.recordOf(state, 0) }
  }

  get routes(): Routes | null {
    return routesOf(this.cache.states, [this.recorded])
  }
}

export class PromptTable {
  readonly #states: readonly LayerState[]
  /** [rows] null: all positions of the row are its own. */
  #promptOf: readonly (HostSlots | null)[] = []
  #prompts: readonly HostSlots[] = []
  /** [prompts]: a cache row for each. */
  #cache: StateCache | null = null

  constructor(states: readonly LayerState[]) {
    this.#states = states
  }

  /** S: the longest prompt, or 0. */
  get slots(): number {
    return this.#cache?.capacity ?? 0
  }

  /** Size in bytes, without the prompts `besides`, which take their memory anyway. */
  sizeBytes(besides: ReadonlySet<PromptSlots>): number {
    const own = this.#prompts.filter((prompt) => !besides.has(prompt))
    const joined = this.#prompts.length > 1 ? this.#cache!.sizeBytes : 0
    return own.reduce((sum, prompt) => sum + prompt.sizeBytes, joined)
  }

  /** Positions that the row sees before its own. */
  lengthOf(row: number): number {
    return this.#promptOf[row]?.length ?? 0
  }

  /** Returns the record of these positions. */
  recordOf(row: number): readonly RecordedPositions[] {
    return this.#promptOf[row] ? [this.#promptOf[row].recorded] : []
  }

  #set(promptOf: readonly (HostSlots | null)[]): void {
    this.#promptOf = promptOf
    const prompts = [...new Set(promptOf)].filter((prompt) => prompt !== null)
    const known = new Set(this.#prompts)
    if (prompts.length === known.size && prompts.every((prompt) => known.has(prompt))) return
    this.#prompts = prompts
    this.#cache = this.#joined()
  }

  /** The rows that go on, in their new order. */
  keep(rows: readonly number[]): void {
    this.#set(rows.map((row) => this.#promptOf[row] ?? null))
  }

  /** Adds rows after the others; null for one that shares no prompt. */
  enter(prompts: readonly (HostSlots | null)[]): void {
    this.#set([...this.#promptOf, ...prompts])
  }

  /** Returns the prompts read by a pass over all rows; null if none of the rows shares a prompt. */
  pass(): PassPrompts | null {
    if (!this.#cache) return null
    const promptOf = this.#promptOf.map((prompt) => (prompt ? this.#prompts.indexOf(prompt) : -1))
    return { cache: this.#cache, promptOf }
  }

  #joined(): StateCache | null {
    const [first, ...others] = this.#prompts
    if (!first) return null
    if (others.length === 0) return first.cache
    const longest = Math.max(...this.#prompts.map(({ length }) => length))
    const cache = new StateCache(this.#states, this.#prompts.length, longest)
    this.#prompts.forEach((prompt, row) => cache.copyRow(row, prompt.cache, 0))
    return cache
  }
}

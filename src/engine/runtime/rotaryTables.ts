import type { RopeConfig } from '../models/config.ts'
import type { Feed } from './session.ts'
import { floats } from './session.ts'

/** Cosines and sines of every position, [P, C/2]; grows when a longer sequence comes. */
export class RotaryTables {
  readonly #rope: RopeConfig
  #length = 0
  #feeds: { readonly cos: Feed; readonly sin: Feed } | null = null

  constructor(rope: RopeConfig) {
    this.#rope = rope
  }

  /**
   * One table row per packed token, [N, C/2]: the runtime's kernel refuses more tokens than table rows, and packed
   * sequences together are longer than any position.
   */
  packed(positions: Int32Array): { readonly cos: Feed; readonly sin: Feed } {
    const half = this.#rope.inverseFrequencies.length
    const tables = this.feeds(positions.reduce((longest, at) => Math.max(longest, at), 0) + 1)
    const gatherRows = (table: Feed): Feed => {
      const rows = new Float32Array(positions.length * half)
      const data = table.data as Float32Array
      positions.forEach((at, row) => rows.set(data.subarray(at * half, (at + 1) * half), row * half))
      return floats(rows, [positions.length, half])
    }
    return { cos: gatherRows(tables.cos), sin: gatherRows(tables.sin) }
  }

  /** Tables of at least `length` positions. */
  feeds(length: number): { readonly cos: Feed; readonly sin: Feed } {
    if (this.#feeds && length <= this.#length) return this.#feeds
    const { inverseFrequencies, attentionFactor } = this.#rope
    const half = inverseFrequencies.length
    this.#length = Math.max(64, 2 ** Math.ceil(Math.log2(length)))
    const cos = new Float32Array(this.#length * half)
    const sin = new Float32Array(this.#length * half)
    for (let position = 0; position < this.#length; position++) {
      for (let pair = 0; pair < half; pair++) {
        // The reference computes the angle in f32; following it keeps long positions equal to the last digit.
        const angle = Math.fround(position * Math.fround(inverseFrequencies[pair]!))
        cos[position * half + pair] = Math.cos(angle) * attentionFactor
        sin[position * half + pair] = Math.sin(angle) * attentionFactor
      }
    }
    this.#feeds = { cos: floats(cos, [this.#length, half]), sin: floats(sin, [this.#length, half]) }
    return this.#feeds
  }
}

/** Watches the text of one completion for stop strings by decoding a bounded tail of its ids. */

/**
 * Characters kept before the longest possible match. A tail may begin inside a character or lose a leading space;
 * with this much before it, a match never touches that ragged edge.
 */
const MARGIN = 32

export class StopStringWatch {
  readonly #stopStrings: readonly string[]
  readonly #decode: (ids: readonly number[]) => string
  readonly #needed: number
  #tailStart = 0

  constructor(stopStrings: readonly string[], decode: (ids: readonly number[]) => string) {
    this.#stopStrings = stopStrings
    this.#decode = decode
    this.#needed = Math.max(...stopStrings.map((text) => text.length)) + MARGIN
  }

  /** Whether the text contains a stop string, given all ids so far; to be asked after every new id. */
  isComplete(ids: readonly number[]): boolean {
    const text = this.#decode(ids.slice(this.#tailStart))
    if (this.#stopStrings.some((stop) => text.includes(stop))) return true
    if (text.length > 2 * this.#needed) this.#shorten(ids)
    return false
  }

  /** Drops the older half of the tail, unless too few characters would stay: ids and characters need not correspond. */
  #shorten(ids: readonly number[]): void {
    const middle = this.#tailStart + Math.floor((ids.length - this.#tailStart) / 2)
    if (this.#decode(ids.slice(middle)).length >= this.#needed) this.#tailStart = middle
  }
}

/** The same noise every time. */
export class CounterStream {
  #state: number

  constructor(seed: string) {
    this.#state =
      [...seed].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 2147483647, 7) || 1
  }

  /** Between −1 and 1. */
  next(): number {
    this.#state = (this.#state * 48271) % 2147483647
    return (2 * this.#state) / 2147483647 - 1
  }
}

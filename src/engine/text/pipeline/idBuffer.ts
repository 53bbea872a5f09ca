/** A list of ids that grows. */
export class IdBuffer {
  #ids: Int32Array
  #length = 0

  constructor(capacity = 64) {
    this.#ids = new Int32Array(Math.max(1, capacity))
  }

  push(id: number): void {
    if (this.#length === this.#ids.length) this.#grow(this.#length + 1)
    this.#ids[this.#length++] = id
  }

  pushAll(ids: ArrayLike<number>): void {
    const length = this.#length + ids.length
    if (length > this.#ids.length) this.#grow(length)
    for (let at = 0; at < ids.length; at++) this.#ids[this.#length + at] = ids[at]!
    this.#length = length
  }

  /** A copy of the ids. */
  toArray(): Int32Array {
    return this.#ids.slice(0, this.#length)
  }

  #grow(needed: number): void {
    const grown = new Int32Array(Math.max(needed, this.#ids.length * 2))
    grown.set(this.#ids)
    this.#ids = grown
  }
}

/** Pairs of token ids with what they merge to: an open hash table, three words for each entry. */
export class PairTable {
  /** Merged id of each rank. */
  readonly #merged: Int32Array
  readonly #slots: Int32Array
  readonly #mask: number

  constructor(capacity: number) {
    this.#merged = new Int32Array(capacity)
    let size = 16
    while (size < capacity * 2) size *= 2
    this.#slots = new Int32Array(size * 3).fill(-1)
    this.#mask = size - 1
  }

  /** A pair given twice keeps its later rank. Ranks are below the capacity. */
  set(
    left: number,
    right: number,
    { rank, merged }: { readonly rank: number; readonly merged: number },
  ): void {
    const slot = this.#find(left, right)
    this.#slots[slot] = left
    this.#slots[slot + 1] = right
    this.#slots[slot + 2] = rank
    this.#merged[rank] = merged
  }

  /** The rank of a pair, which orders merges; −1 for a pair that does not merge. */
  rankOf(left: number, right: number): number {
    return this.#slots[this.#find(left, right) + 2]!
  }

  mergedBy(rank: number): number {
    return this.#merged[rank]!
  }

  /** Where the pair is, or the free slot where it would be. */
  #find(left: number, right: number): number {
    const slots = this.#slots
    let index = hash(left, right) & this.#mask
    for (;;) {
      const slot = index * 3
      if (slots[slot] === -1 || (slots[slot] === left && slots[slot + 1] === right)) return slot
      index = (index + 1) & this.#mask
    }
  }
}

function hash(left: number, right: number): number {
  const mixed = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

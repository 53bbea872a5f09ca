/** Longest word merged by rescanning all pairs; for longer ones a queue is faster. */
const shortWord = 48

/**
 * Byte-pair encoding: as long as a pair of neighbours merges, the one of lowest rank does, the leftmost of equals.
 * `word` is overwritten; the first of its ids, as many as returned, are the tokens.
 */
export function mergeWord(word: number[], table: PairTable): number {
  return word.length <= shortWord ? mergeShort(word, table) : mergeLong(word, table)
}

/** Ranks of the pairs of the word at hand; one word is merged at a time. */
const ranks = new Int32Array(shortWord)

function mergeShort(word: number[], table: PairTable): number {
  let length = word.length
  for (let at = 0; at + 1 < length; at++) ranks[at] = table.rankOf(word[at]!, word[at + 1]!)
  for (let best = lowestRank(length); best >= 0; best = lowestRank(length)) {
    word[best] = table.mergedBy(ranks[best]!)
    length--
    for (let at = best + 1; at < length; at++) {
      word[at] = word[at + 1]!
      ranks[at - 1] = ranks[at]!
    }
    if (best + 1 < length) ranks[best] = table.rankOf(word[best]!, word[best + 1]!)
    if (best > 0) ranks[best - 1] = table.rankOf(word[best - 1]!, word[best]!)
  }
  return length
}

/** Returns the place of the pair of lowest rank among the first `length` ids; −1 when none merges. */
function lowestRank(length: number): number {
  let best = -1
  let bestRank = 0x7fffffff
  for (let at = 0; at + 1 < length; at++) {
    const rank = ranks[at]!
    if (rank >= 0 && rank < bestRank) {
      best = at
      bestRank = rank
    }
  }
  return best
}

/** The same over a linked list, with a heap of waiting pairs; an entry whose pair has changed since is passed over. */
function mergeLong(word: number[], table: PairTable): number {
  const end = word.length
  const next = Int32Array.from(word, (_, at) => at + 1)
  const previous = Int32Array.from(word, (_, at) => at - 1)
  const heap = new Heap()
  const offer = (at: number) => {
    const after = at < 0 ? end : next[at]!
    const rank = after === end ? -1 : table.rankOf(word[at]!, word[after]!)
    if (rank >= 0) heap.push(rank * end + at)
  }
  for (let at = 0; at + 1 < end; at++) offer(at)
  for (let key = heap.pop(); key >= 0; key = heap.pop()) {
    const at = key % end
    const rank = Math.floor(key / end)
    const after = next[at]!
    if (word[at] === gone || after === end || table.rankOf(word[at]!, word[after]!) !== rank) continue
    word[at] = table.mergedBy(rank)
    word[after] = gone
    next[at] = next[after]!
    if (next[at] !== end) previous[next[at]] = at
    offer(at)
    offer(previous[at]!)
  }
  let length = 0
  for (let at = 0; at < end; at = next[at]!) word[length++] = word[at]!
  return length
}

const gone = -1

/** The smallest number first. */
class Heap {
  readonly #items: number[] = []

  push(item: number): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]! <= item) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  /** Removes and returns the least; −1 when there is none. */
  pop(): number {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (top === undefined || last === undefined) return -1
    if (items.length > 0) this.#sink(last)
    return top
  }

  #sink(item: number): void {
    const items = this.#items
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && items[child + 1]! < items[child]!) child++
      if (items[child]! >= item) break
      items[at] = items[child]!
      at = child
    }
    items[at] = item
  }
}

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

  /** Returns the place of the pair, or of the free slot where it would be. */
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

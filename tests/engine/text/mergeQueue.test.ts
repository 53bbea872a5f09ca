import { describe, expect, test } from 'vitest'
import { mergeWord, PairTable } from '#engine/text/pipeline/mergeQueue.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const letters = 4

/** Merges of random pairs, each with an id of its own. */
function randomMerges(random: SequentialRandom, count: number) {
  const ranks = new Map<string, number>()
  const table = new PairTable(count)
  let known = letters
  for (let rank = 0; rank < count; rank++) {
    const [left, right] = [random.integer(known), random.integer(known)]
    if (ranks.has(`${left},${right}`)) continue
    ranks.set(`${left},${right}`, rank)
    table.set(left, right, { rank, merged: letters + rank })
    known = letters + rank + 1
  }
  return { ranks, table }
}

/** What the words of the algorithm say, one merge at a time. */
function mergedPlainly(word: readonly number[], ranks: ReadonlyMap<string, number>): number[] {
  const ids = [...word]
  for (;;) {
    const pairs = ids
      .slice(1)
      .map((right, at) => ({ at, rank: ranks.get(`${ids[at]},${right}`) ?? Infinity }))
    const best = pairs.reduce((a, b) => (b.rank < a.rank ? b : a), { at: -1, rank: Infinity })
    if (best.at < 0) return ids
    ids.splice(best.at, 2, letters + best.rank)
  }
}

describe('mergeWord', () => {
  test.each([1, 2, 7, 30, 48, 49, 120, 400])(
    'merges words of %i letters as its definition does',
    (length) => {
      const random = new SequentialRandom(randomStream(11, length))
      for (let round = 0; round < 40; round++) {
        const { ranks, table } = randomMerges(random, 1 + random.integer(60))
        const word = Array.from({ length }, () => random.integer(letters))
        const ids = [...word]
        expect(ids.slice(0, mergeWord(ids, table))).toEqual(mergedPlainly(word, ranks))
      }
    },
  )

  test('a pair given twice keeps its later rank', () => {
    const table = new PairTable(3)
    table.set(0, 1, { rank: 0, merged: 5 })
    table.set(1, 2, { rank: 1, merged: 6 })
    table.set(0, 1, { rank: 2, merged: 5 })
    const ids = [0, 1, 2]
    expect(ids.slice(0, mergeWord(ids, table))).toEqual([0, 6])
  })

  test('a word of a hundred thousand letters takes no time to speak of', () => {
    const table = new PairTable(3)
    table.set(0, 0, { rank: 0, merged: 4 })
    table.set(4, 4, { rank: 1, merged: 5 })
    table.set(5, 5, { rank: 2, merged: 6 })
    const ids = new Array<number>(100_000).fill(0)
    expect(mergeWord(ids, table)).toBe(12_500)
  })
})

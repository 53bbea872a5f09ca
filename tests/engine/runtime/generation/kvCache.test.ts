import { describe, expect, test } from 'vitest'
import { KvCache, type NewSlots } from '#engine/runtime/generation/kvCache.ts'

const shape = { layers: 2, kvHeads: 2, headDim: 3 }

/** Output of a pass whose every number names its origin: kind, layer, row, head, position, channel. */
function namedSlots(rows: number, length: number, base = 0): NewSlots {
  const fill = (kind: number) =>
    Array.from({ length: shape.layers }, (_, layer) => {
      const data = new Float32Array(rows * shape.kvHeads * length * shape.headDim)
      for (let index = 0; index < data.length; index++) {
        data[index] = base + kind * 100_000 + layer * 10_000 + index
      }
      return data
    })
  return { keys: fill(1), values: fill(2) }
}

/** The filled slots of a row: per layer and head, the channels of each slot, keys then values. */
function contentOf(cache: KvCache, row: number): number[][] {
  const { layers, kvHeads, headDim } = shape
  const content: number[][] = []
  for (let layer = 0; layer < layers; layer++) {
    for (const data of [cache.keys(layer, cache.rows), cache.values(layer, cache.rows)]) {
      for (let head = 0; head < kvHeads; head++) {
        const start = (row * kvHeads + head) * cache.capacity * headDim
        content.push([...data.subarray(start, start + cache.lengthOf(row) * headDim)])
      }
    }
  }
  return content
}

describe('KvCache', () => {
  test('appends the asked positions of the asked row of a padded pass, behind what is there', () => {
    const cache = new KvCache(shape, 2, 8)
    cache.append(1, namedSlots(3, 4), { row: 2, length: 4, count: 3 })
    cache.append(1, namedSlots(2, 1, 500), { row: 1, length: 1, count: 1 })
    expect(cache.lengthOf(1)).toBe(4)
    expect(cache.lengthOf(0)).toBe(0)
    // Row 2, head 0 of [3, 2, 4, 3] starts at 48, head 1 at 60; row 1, head 0 of [2, 2, 1, 3] at 6, head 1 at 9.
    const head0 = [48, 49, 50, 51, 52, 53, 54, 55, 56, 506, 507, 508]
    const head1 = [60, 61, 62, 63, 64, 65, 66, 67, 68, 509, 510, 511]
    const expected = [100_000, 200_000, 110_000, 210_000].flatMap((origin) => [
      head0.map((value) => origin + value),
      head1.map((value) => origin + value),
    ])
    expect(contentOf(cache, 1)).toEqual(expected)
  })

  test('growing and shrinking keep every row', () => {
    const cache = new KvCache(shape, 3, 5)
    cache.append(0, namedSlots(1, 5), { row: 0, length: 5, count: 5 })
    cache.append(2, namedSlots(1, 2, 700), { row: 0, length: 2, count: 2 })
    const before = [contentOf(cache, 0), contentOf(cache, 2)]
    cache.resize(64)
    expect(cache.capacity).toBe(64)
    expect([contentOf(cache, 0), contentOf(cache, 2)]).toEqual(before)
    cache.resize(5)
    expect([contentOf(cache, 0), contentOf(cache, 2)]).toEqual(before)
    expect(() => cache.resize(4)).toThrow('at least 5')
  })

  test('copies a row between caches of different capacity and within one', () => {
    const prompt = new KvCache(shape, 1, 4)
    prompt.append(0, namedSlots(1, 4), { row: 0, length: 4, count: 4 })
    const cache = new KvCache(shape, 3, 10)
    cache.copyRow(2, prompt, 0)
    cache.copyRow(0, cache, 2)
    expect(contentOf(cache, 2)).toEqual(contentOf(prompt, 0))
    expect(contentOf(cache, 0)).toEqual(contentOf(prompt, 0))
    expect(cache.lengthOf(1)).toBe(0)
  })

  test('views are prefixes of the same memory', () => {
    const cache = new KvCache(shape, 3, 10)
    expect(cache.keys(0, 2).length).toBe(2 * 2 * 10 * 3)
    expect(cache.keys(0, 2).buffer).toBe(cache.keys(0, 3).buffer)
    expect(cache.keys(1, 1).byteOffset).toBe(0)
  })

  test('counts bytes of keys and values of all layers', () => {
    expect(new KvCache(shape, 3, 10).sizeBytes).toBe(2 * 2 * 3 * 2 * 10 * 3 * 4)
  })

  test('refuses to write past the capacity', () => {
    const cache = new KvCache(shape, 1, 2)
    expect(() => cache.append(0, namedSlots(1, 3), { row: 0, length: 3, count: 3 })).toThrow(
      'at most 2 slots',
    )
  })
})

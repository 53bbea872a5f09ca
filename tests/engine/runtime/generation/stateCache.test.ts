import { describe, expect, test } from 'vitest'
import { attentionStates, stateBytes, type LayerState } from '#engine/models/layerStates.ts'
import type { AttentionWindow } from '#engine/models/config.ts'
import { StateCache, type NewSlots } from '#engine/runtime/generation/stateCache.ts'

const shape = { layers: 2, kvHeads: 2, headDim: 3 }
const statesOf = (windows: readonly AttentionWindow[], sizes: { kvHeads: number; headDim: number }) =>
  windows.flatMap((window, layer) => attentionStates(layer, sizes, window))
const states = statesOf([null, null], shape)

/** Output of a pass whose every number names its origin: kind, layer, row, head, position, channel. */
function namedSlots(rows: number, length: number, base = 0): NewSlots {
  const fill = (layer: number) =>
    [1, 2].map((kind) => {
      const data = new Float32Array(rows * shape.kvHeads * length * shape.headDim)
      for (let index = 0; index < data.length; index++) {
        data[index] = base + kind * 100_000 + layer * 10_000 + index
      }
      return data
    })
  return [0, 1].flatMap(fill)
}

/** The filled slots of a row: per layer and head, the channels of each slot, keys then values. */
function contentOf(cache: StateCache, row: number): number[][] {
  const { kvHeads, headDim } = shape
  return states.flatMap((_, index) => {
    const { data } = cache.view(index, cache.rows)
    return Array.from({ length: kvHeads }, (_, head) => {
      const start = (row * kvHeads + head) * cache.capacity * headDim
      return [...data.subarray(start, start + cache.lengthOf(row) * headDim)]
    })
  })
}

describe('StateCache', () => {
  test('appends the asked positions of the asked row of a padded pass, behind what is there', () => {
    const cache = new StateCache(states, 2, 8)
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
    const cache = new StateCache(states, 3, 5)
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
    const prompt = new StateCache(states, 1, 4)
    prompt.append(0, namedSlots(1, 4), { row: 0, length: 4, count: 4 })
    const cache = new StateCache(states, 3, 10)
    cache.copyRow(2, prompt, 0)
    cache.copyRow(0, cache, 2)
    expect(contentOf(cache, 2)).toEqual(contentOf(prompt, 0))
    expect(contentOf(cache, 0)).toEqual(contentOf(prompt, 0))
    expect(cache.lengthOf(1)).toBe(0)
  })

  test('views are prefixes of the same memory', () => {
    const cache = new StateCache(states, 3, 10)
    expect(cache.view(0, 2).data.length).toBe(2 * 2 * 10 * 3)
    expect(cache.view(0, 2).dims).toEqual([2, 2, 10, 3])
    expect(cache.view(0, 2).data.buffer).toBe(cache.view(0, 3).data.buffer)
    expect(cache.view(2, 1).data.byteOffset).toBe(0)
  })

  test('counts bytes of keys and values of all layers', () => {
    expect(new StateCache(states, 3, 10).sizeBytes).toBe(2 * 2 * 3 * 2 * 10 * 3 * 4)
  })

  test('refuses to write past the capacity', () => {
    const cache = new StateCache(states, 1, 2)
    expect(() => cache.append(0, namedSlots(1, 3), { row: 0, length: 3, count: 3 })).toThrow(
      'at most 2 slots',
    )
  })
})

describe('a layer with a window of 4', () => {
  const small = { kvHeads: 1, headDim: 1 }
  const windowed = statesOf([null, 4], small)
  /** Of `length` positions of one row appends the first `count`; a key is its position, from 1, a value its negative. */
  const append = (cache: StateCache, row: number, count: number, length = count) => {
    const keys = Float32Array.from({ length }, (_, index) => cache.lengthOf(row) + index + 1)
    const values = keys.map((key) => -key)
    cache.append(row, [keys, values, keys, values], { row: 0, length, count })
  }
  /** The keys of a row: in the layer that sees everything, and in the other. */
  const keysOf = (cache: StateCache, row: number) =>
    [0, 1].map((layer) => {
      const [keys, values] = [0, 1].map((kind) => {
        const { data } = cache.view(2 * layer + kind, cache.rows)
        const slots = data.length / cache.rows
        return [...data.subarray(row * slots, (row + 1) * slots)]
      })
      expect(values).toEqual(keys!.map((key) => 0 - key))
      return keys
    })

  test('keeps the three positions that the next one sees, each in place of one that it does not', () => {
    const cache = new StateCache(windowed, 2, 8)
    append(cache, 1, 2)
    expect(keysOf(cache, 1)[1]).toEqual([1, 2, 0])
    append(cache, 1, 2)
    expect(keysOf(cache, 1)[1]).toEqual([4, 2, 3])
    append(cache, 1, 1)
    expect(keysOf(cache, 1)).toEqual([
      [1, 2, 3, 4, 5, 0, 0, 0],
      [4, 5, 3],
    ])
    append(cache, 1, 3)
    expect(keysOf(cache, 1)[1]).toEqual([7, 8, 6])
    expect(keysOf(cache, 0)[1]).toEqual([0, 0, 0])
    expect(() => append(cache, 1, 1)).toThrow('at most 8 slots')
  })

  test('takes the latest of more new positions than it keeps, and none that are not kept', () => {
    const cache = new StateCache(windowed, 1, 16)
    append(cache, 0, 8, 12)
    expect(keysOf(cache, 0)[1]).toEqual([7, 8, 6])
    append(cache, 0, 0, 5)
    append(cache, 0, 2, 5)
    expect(keysOf(cache, 0)[1]).toEqual([10, 8, 9])
    expect(cache.lengthOf(0)).toBe(10)
  })

  test('grows and shrinks with the capacity up to the window, with all that rows hold', () => {
    const cache = new StateCache(windowed, 2, 2)
    append(cache, 0, 2)
    append(cache, 1, 1)
    expect(keysOf(cache, 0)[1]).toEqual([1, 2])
    cache.resize(6)
    expect([keysOf(cache, 0)[1], keysOf(cache, 1)[1]]).toEqual([
      [1, 2, 0],
      [1, 0, 0],
    ])
    append(cache, 0, 3)
    const kept = cache.view(2, 2).data
    cache.resize(64)
    expect(cache.view(2, 2).data.buffer).toBe(kept.buffer) // nothing to copy
    cache.resize(5)
    expect(keysOf(cache, 0)).toEqual([
      [1, 2, 3, 4, 5],
      [4, 5, 3],
    ])
    cache.clearRow(0)
    cache.resize(2)
    expect(keysOf(cache, 1)[1]).toEqual([1, 0])
    append(cache, 1, 1)
    expect(keysOf(cache, 1)[1]).toEqual([1, 2])
  })

  test('copies rows between caches of any capacity', () => {
    const cache = new StateCache(windowed, 3, 10)
    for (const length of [2, 3, 7]) {
      const prompt = new StateCache(windowed, 1, length)
      append(prompt, 0, length)
      cache.copyRow(1, prompt, 0)
      cache.copyRow(0, cache, 1)
      append(cache, 0, 2)
      const alone = new StateCache(windowed, 1, 10)
      append(alone, 0, length + 2)
      expect(keysOf(cache, 0)[1]).toEqual(keysOf(alone, 0)[1])
      expect(cache.lengthOf(1)).toBe(length)
    }
  })

  /** In bench/history/attention.md. */
  test('of published models', () => {
    const layerWindows = (layers: number, slides: (layer: number) => boolean, window: number) =>
      Array.from({ length: layers }, (_, layer) => (slides(layer) ? window : null))
    const all = (count: number) => layerWindows(count, () => false, 1)
    const gemma3 = { kvHeads: 1, headDim: 256 } // 1B
    expect(stateBytes(statesOf(all(26), gemma3), 1, 8_192)).toBe(436_207_616)
    const mostLayers = layerWindows(26, (layer) => (layer + 1) % 6 !== 0, 512)
    expect(stateBytes(statesOf(mostLayers, gemma3), 1, 8_192)).toBe(90_132_480)
    const mistral = { kvHeads: 8, headDim: 128 } // 7B 0.1
    expect(stateBytes(statesOf(all(32), mistral), 1, 32_768)).toBe(8_589_934_592)
    const allLayers = layerWindows(32, () => true, 4_096)
    expect(stateBytes(statesOf(allLayers, mistral), 1, 32_768)).toBe(1_073_479_680)
  })

  test('takes no more than the window, however many positions there are', () => {
    const bytes = (layerWindows: (number | null)[], capacity: number) =>
      new StateCache(statesOf(layerWindows, small), 5, capacity).sizeBytes
    const slotBytes = 2 * 5 * 4 // Keys and values of five rows.
    expect(bytes([null, 4], 1000)).toBe((1000 + 3) * slotBytes)
    expect(bytes([null, 4], 2)).toBe((2 + 2) * slotBytes)
    expect(bytes([1, 4], 1000)).toBe(3 * slotBytes)
    const one = new StateCache(statesOf([1, 1], small), 1, 4)
    append(one, 0, 4) // Sees itself alone.
    expect(one.view(0, 1).data.length).toBe(0)
  })
})

describe('a state of the latest two positions', () => {
  const latest: LayerState = { kind: 'latest', name: 'convolved 0', heads: 1, channels: 2, positions: 2 }
  const kept = [latest, ...statesOf([null], { kvHeads: 1, headDim: 1 })]
  /** Of `length` positions of one row appends the first `count`; the channels are the position, from 1, and its negative. */
  const append = (cache: StateCache, row: number, count: number, { length = count, first = 1 } = {}) => {
    const slots = Float32Array.from({ length }, (_, index) => first + index)
    const both = Float32Array.from({ length: 2 * length }, (_, index) =>
      index % 2 === 0 ? slots[index / 2]! : -slots[(index - 1) / 2]!,
    )
    cache.append(row, [both, slots, slots], { row: 0, length, count })
  }
  const positionsOf = (cache: StateCache, row: number) =>
    [...cache.view(0, cache.rows).data.subarray(4 * row, 4 * row + 4)].filter((_, index) => index % 2 === 0)

  test('has them in their order, behind zeros, whatever the capacity', () => {
    const cache = new StateCache(kept, 2, 0)
    expect(cache.view(0, 2).dims).toEqual([2, 1, 2, 2])
    expect(positionsOf(cache, 1)).toEqual([0, 0])
    cache.resize(9)
    append(cache, 1, 1, { length: 4 })
    expect(positionsOf(cache, 1)).toEqual([0, 1])
    append(cache, 1, 1, { first: 2 })
    expect(positionsOf(cache, 1)).toEqual([1, 2])
    append(cache, 1, 3, { first: 3, length: 5 })
    expect(positionsOf(cache, 1)).toEqual([4, 5])
    append(cache, 1, 0, { length: 3 })
    expect(positionsOf(cache, 1)).toEqual([4, 5])
    expect(positionsOf(cache, 0)).toEqual([0, 0])
  })

  test('goes with copies of a row, and alone with one that goes on behind it', () => {
    const [prompt, cache] = [new StateCache(kept, 1, 3), new StateCache(kept, 3, 5)]
    append(prompt, 0, 3)
    cache.copyRow(2, prompt, 0)
    append(cache, 1, 5)
    cache.continueRow(1, prompt, 0)
    expect([positionsOf(cache, 1), positionsOf(cache, 2)]).toEqual([
      [2, 3],
      [2, 3],
    ])
    expect([cache.lengthOf(1), cache.lengthOf(2)]).toEqual([0, 3])
    append(cache, 1, 1, { first: 4 })
    expect(positionsOf(cache, 1)).toEqual([3, 4])
    expect(positionsOf(prompt, 0)).toEqual([2, 3])
  })
})

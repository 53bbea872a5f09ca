import { describe, expect, test } from 'vitest'
import { generated, optionsOf, requestsOf } from './alone.ts'
import { TinyModel } from './tinyModel.ts'
import { attentionStates } from '#engine/models/layerStates.ts'
import { StateCache } from '#engine/runtime/generation/stateCache.ts'
import type { GenerationStats } from '#engine/runtime/generation/generate.ts'
import { HostSlots, PromptTable } from '#engine/runtime/generation/promptTable.ts'

const states = attentionStates(0, { kvHeads: 2, headDim: 3 }, null)
const slotBytes = 2 * 2 * 3 * 4

/** So many positions, whose keys and values are all `value`. */
function prompt(length: number, value: number): HostSlots {
  const cache = new StateCache(states, 1, length)
  const layer = new Float32Array(2 * length * 3).fill(value)
  cache.append(0, [layer, layer], { row: 0, length, count: length })
  return new HostSlots(cache, true)
}

describe('PromptTable', () => {
  const [short, long] = [prompt(2, 1), prompt(5, 2)]

  test('holds each prompt once, and says who shares it', () => {
    const table = new PromptTable(states)
    expect(table.pass()).toBeNull()
    expect(table.slots).toBe(0)
    table.enter([short, null, long, short])
    const { cache, promptOf } = table.pass()!
    expect(promptOf).toEqual([0, -1, 1, 0])
    expect(promptOf.map((_, row) => table.lengthOf(row))).toEqual([2, 0, 5, 2])
    expect([0, 1].map((prompt) => cache.lengthOf(prompt))).toEqual([2, 5])
    expect([cache.rows, table.slots]).toEqual([2, 5])
    const keys = cache.view(0, 2).data
    expect([...keys.subarray(0, 6)]).toEqual(new Array(6).fill(1))
    expect([...keys.subarray(2 * 5 * 3)]).toEqual(new Array(2 * 5 * 3).fill(2))
  })

  test('one prompt is read where it lies', () => {
    const table = new PromptTable(states)
    table.enter([long, long])
    expect(table.pass()!.cache).toBe(long.cache)
    expect(table.sizeBytes(new Set())).toBe(5 * slotBytes)
    // What waits for a row anyway is counted there.
    expect(table.sizeBytes(new Set([long]))).toBe(0)
  })

  test('a prompt goes with the last of its rows, and rows keep theirs in a new order', () => {
    const table = new PromptTable(states)
    table.enter([short, long])
    const both = table.pass()!.cache
    table.enter([long, null])
    expect(table.pass()!.cache).toBe(both) // nothing new to copy
    expect(table.sizeBytes(new Set())).toBe((2 + 5 + 2 * 5) * slotBytes)
    table.keep([3, 1, 2])
    expect(table.pass()!.promptOf).toEqual([-1, 0, 0])
    expect(table.pass()!.cache).toBe(long.cache)
    expect([0, 1, 2].map((row) => table.lengthOf(row))).toEqual([0, 5, 5])
    table.keep([0])
    expect(table.pass()).toBeNull()
    expect(table.sizeBytes(new Set())).toBe(0)
  })
})

test('a group reads its prompt together, as long as one of it lives', async () => {
  const model = new TinyModel(2, 23, 4, { sharesPrompts: true })
  const [group, lone] = [requestsOf([9, 20], 3, model.vocabSize), requestsOf([40], 1, model.vocabSize)]
  let stats: GenerationStats | null = null
  const options = { ...optionsOf({ maxNewTokens: 8, stopIds: [1, 2, 3] }), maxRows: 7 }
  await generated(model, [...group, ...lone], { ...options, onEnd: (ended) => void (stats = ended) })
  const counts = model.passes
    .filter(({ length, rows }) => length === 1 && rows > 3)
    .map(({ prompts }) => prompts)
  expect(counts.length).toBeGreaterThan(0)
  expect(Math.max(...counts)).toBe(2)
  const slotBytes = 2 * 2 * 2 * 3 * 4 // both layers
  const latest = (7 + 4) * 2 * 6 * 4 // what the convolution reads, of each row and prompt
  // Seven rows of 64 slots; the shared prompts, each by itself and both together.
  expect(stats!.peakCacheBytes).toBe((7 * 64 + 9 + 20 + 2 * 20) * slotBytes + latest)
})

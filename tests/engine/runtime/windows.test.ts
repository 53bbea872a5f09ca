/** Generation with layers that keep only their window, against scoring, which computes whole sequences without a cache. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { layerStates } from '#engine/models/layerStates.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { GenerationRequest } from '#engine/policy.ts'
import { StateCache } from '#engine/runtime/generation/stateCache.ts'
import type { OrtDecodeStep } from '#engine/runtime/ortDecodeStep.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { openDecodeStep, type OpenedStep } from './decodeStep.ts'
import { largestDifference } from './differences.ts'
import { completionsOf, openTiny, randomSequence, tinySource, unfiltered } from './tinyModel.ts'

const folder = temporaryFolder()

/** Of three layers, with windows in all of them or in some. */
const openWindowed = (name: 'tiny-mistral' | 'tiny-gemma2' | 'tiny-gemma3', window: number) =>
  tinySource(folder, {
    ...modelShapes[name],
    layers: 3,
    maxPositions: 1024,
    config: { sliding_window: window },
  })

describe.each([
  ['tiny-mistral', 20],
  ['tiny-gemma2', 9],
  ['tiny-gemma3', 20],
] as const)('%s with a window of %i', (name, window) => {
  // From five rows on, prompts are shared.
  test.each([3, 5])(
    'generates what it scores in %i rows that come and go, prompts in pieces',
    async (maxRows) => {
      const source = await openWindowed(name, window)
      expect(
        new Set(layerStates(source.config).map((state) => state.kind === 'slots' && state.window)),
      ).toEqual(new Set(name === 'tiny-mistral' ? [window] : [window, null]))
      using policy = await openTiny(source, { maxRows })
      // The longest is computed in two passes, one of them many windows long.
      const requests = [600, 2, 33, 90].map((length, index): GenerationRequest => ({
        promptIds: randomSequence(258, length, index).ids,
        streams: [0, 1].map((sample) => randomStream(7, index, sample)),
      }))
      const stopIds = Array.from({ length: 3 }, (_, id) => id)
      const sampling = { ...unfiltered, maxNewTokens: 80, stopIds }
      const completions = await completionsOf(policy, requests, { role: 'actor', sampling })
      const lengths = completions.map(({ ids }) => ids.length)
      expect(new Set(lengths).size).toBeGreaterThan(2) // rows leave one by one
      const sequences = completions.map(({ request, ids }) => {
        const { promptIds } = requests[request]!
        const actionMask = new Uint8Array(promptIds.length + ids.length - 1).fill(1, promptIds.length - 1)
        return { ids: Int32Array.from([...promptIds, ...ids]), actionMask }
      })
      const scored = await policy.score(sequences, { role: 'actor', temperature: 1 })
      completions.forEach(({ logprobs }, index) => {
        const own = scored[index]!.logprobs.slice(-logprobs.length)
        expect(largestDifference(logprobs, own)).toBeLessThan(1e-4)
      })
    },
  )
})

test('a row of 680 tokens keeps as much in layers with a window as they see', async () => {
  const source = await openWindowed('tiny-gemma3', 20)
  using policy = await openTiny(source)
  const request = { promptIds: randomSequence(258, 600, 1).ids, streams: [randomStream(7)] }
  const sampling = { ...unfiltered, maxNewTokens: 80 }
  await completionsOf(policy, [request], { role: 'actor', sampling })
  const { kvHeads, headDim } = source.config
  const slotBytes = 2 * kvHeads * headDim * 4 // a key and a value
  expect(policy.lastGeneration!.peakCacheBytes).toBe((19 + 19 + 704) * slotBytes)
})

describe('several new positions behind rows of different lengths', () => {
  const [window, rows] = [7, 3]
  let source: ModelSource
  let opened: OpenedStep
  let step: OrtDecodeStep
  beforeAll(async () => {
    source = await openWindowed('tiny-gemma2', window)
    opened = await openDecodeStep(source)
    step = opened.step
  })
  afterAll(() => opened[Symbol.dispose]())

  /** One pass over `length` new positions of each row of the cache; row r is scored after `last[r]`. */
  function pass(cache: StateCache, ids: readonly Int32Array[], length: number, last: readonly number[]) {
    const before = ids.map((_, row) => cache.lengthOf(row))
    return step.run({
      rows: ids.length,
      length,
      ids: Int32Array.from(ids.flatMap((row, at) => [...row.subarray(before[at], before[at]! + length)])),
      positions: Int32Array.from(before.flatMap((at) => Array.from({ length }, (_, next) => at + next))),
      cache,
      scored: Int32Array.from(last, (at, row) => row * length + at),
      inverseTemperatures: new Float64Array(ids.length).fill(1),
      want: 'probabilities',
      role: 'actor',
    })
  }

  test('are seen, kept in part and left in part', async () => {
    const ids = Array.from({ length: rows }, (_, row) => randomSequence(258, 60, row).ids)
    const cache = new StateCache(step.states, rows, 64)
    const whole = (end: number, row: number) =>
      pass(new StateCache(step.states, 1, 0), [ids[row]!], end, [end - 1])
    for (const [row, length] of [3, 17, 30].entries()) {
      const { fresh } = await whole(length, row)
      cache.append(row, fresh, { row: 0, length, count: length })
    }
    /** Each row keeps the first `counts[r]` of `length` new positions. */
    const advance = async (length: number, counts: readonly number[]) => {
      const last = counts.map((count) => Math.max(0, count - 1))
      const result = await pass(cache, ids, length, last)
      for (const [row, count] of counts.entries()) {
        const end = cache.lengthOf(row) + last[row]! + 1
        const scores = result.scores.subarray(row * step.vocabSize, (row + 1) * step.vocabSize)
        expect(largestDifference(scores, (await whole(end, row)).scores)).toBeLessThan(1e-6)
        cache.append(row, result.fresh, { row, length, count })
      }
    }
    await advance(8, [8, 1, 4])
    await advance(1, [1, 1, 1])
    await advance(8, [3, 8, 0])
    await advance(4, [4, 2, 3])
    await advance(1, [1, 1, 1])
    expect(ids.map((_, row) => cache.lengthOf(row))).toEqual([20, 30, 39])
  })
})

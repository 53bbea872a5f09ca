/** The generation graph itself, pass by pass, against scoring. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import { KvCache } from '#engine/runtime/generation/kvCache.ts'
import { causalMask } from '#engine/runtime/generation/mask.ts'
import { Learner } from '#engine/runtime/learner.ts'
import { OrtDecodeStep } from '#engine/runtime/ortDecodeStep.ts'
import { modelShapes } from '#host/artifacts/modelShapes.ts'
import { temporaryFolder } from '../../host/artifacts/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import { oneThread, randomAdapter, randomSequence, tinyLora, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()

describe.each(['tiny-llama', 'tiny-qwen2', 'tiny-qwen3'] as const)('%s', (name) => {
  let source: ModelSource
  let learner: Learner
  let step: OrtDecodeStep
  beforeAll(async () => {
    source = await tinySource(folder, modelShapes[name])
    learner = await Learner.create({
      source,
      lora: tinyLora,
      device: oneThread,
      backward: ['backward'],
      saveActivations: () => false,
    })
    const adapter = new AdapterParameters(source.config, tinyLora).load(randomAdapter(source.config))
    step = await OrtDecodeStep.create({
      source,
      precision: 'f32',
      lora: tinyLora,
      device: oneThread,
      embed: (ids) => learner.embed(ids),
      adapter: () => adapter,
    })
  })
  afterAll(() => {
    learner[Symbol.dispose]()
    step[Symbol.dispose]()
  })

  /** One pass of one row over `ids` behind the filled slots of `cache`; the new keys and values are appended. */
  async function pass(
    cache: KvCache,
    ids: Int32Array,
    want: 'probabilities' | 'logits' | 'none' = 'probabilities',
  ) {
    const start = cache.lengthOf(0)
    if (cache.capacity !== start) throw new Error('Expected a full cache.')
    const result = await step.run({
      rows: 1,
      length: ids.length,
      ids,
      positions: Int32Array.from(ids, (_, index) => start + index),
      cache,
      mask: causalMask(1, ids.length, start),
      last: Int32Array.of(ids.length - 1),
      inverseTemperature: 1 / 0.8,
      want,
      role: 'actor',
    })
    cache.resize(start + ids.length)
    cache.append(0, result, { row: 0, length: ids.length, count: ids.length })
    return result.scores
  }

  const { ids } = randomSequence(258, 21, 1)

  test('a prompt in one pass, in pieces and token by token gives the same probabilities', async () => {
    const whole = await pass(new KvCache(step, 1, 0), ids)
    for (const size of [1, 6, 20]) {
      const cache = new KvCache(step, 1, 0)
      let scores = new Float32Array(0)
      for (let start = 0; start < ids.length; start += size) {
        const piece = ids.subarray(start, start + size)
        const isLast = start + piece.length === ids.length
        const found = await pass(cache, piece, isLast ? 'probabilities' : 'none')
        expect(found.length).toBe(isLast ? step.vocabSize : 0)
        scores = Float32Array.from(found)
      }
      expect(largestDifference(scores, whole)).toBeLessThan(1e-6)
    }
  })

  test('probabilities are the softmax of the logits over the temperature', async () => {
    const logits = await pass(new KvCache(step, 1, 0), ids, 'logits')
    const probabilities = await pass(new KvCache(step, 1, 0), ids)
    const weights = Float64Array.from(logits, (logit) => Math.exp(logit / 0.8))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    expect(
      largestDifference(
        weights.map((weight) => weight / total),
        probabilities,
      ),
    ).toBeLessThan(1e-6)
  })

  test('what lies in slots that the mask hides does not matter', async () => {
    const run = async (filler: number) => {
      const cache = new KvCache(step, 1, 0)
      await pass(cache, ids.subarray(0, 20))
      cache.resize(24)
      const { kvHeads, headDim } = step
      for (let layer = 0; layer < step.layers; layer++) {
        for (const data of [cache.keys(layer, 1), cache.values(layer, 1)]) {
          for (let head = 0; head < kvHeads; head++)
            data.fill(filler, (head * 24 + 20) * headDim, (head + 1) * 24 * headDim)
        }
      }
      const mask = new Float32Array(25).fill(-1e9, 20, 24)
      const { scores } = await step.run({
        rows: 1,
        length: 1,
        ids: ids.subarray(20),
        positions: Int32Array.of(20),
        cache,
        mask,
        last: Int32Array.of(0),
        inverseTemperature: 1 / 0.8,
        want: 'probabilities',
        role: 'actor',
      })
      return scores
    }
    const whole = await pass(new KvCache(step, 1, 0), ids)
    expect(await run(1e3)).toEqual(await run(0))
    expect(largestDifference(await run(-5), whole)).toBeLessThan(1e-6)
  })

  test('positions may lie far beyond the number of tokens in a pass', async () => {
    const cache = new KvCache(step, 1, 0)
    const at = async (position: number) => {
      const { scores } = await step.run({
        rows: 1,
        length: 1,
        ids: Int32Array.of(7),
        positions: Int32Array.of(position),
        cache,
        mask: new Float32Array(1),
        last: Int32Array.of(0),
        inverseTemperature: 1,
        want: 'probabilities',
        role: 'actor',
      })
      return scores
    }
    // A token that sees only itself is the same wherever it stands: rotation is relative.
    expect(largestDifference(await at(500), await at(0))).toBeLessThan(1e-6)
  })
})

/** The generation graph itself, pass by pass, against scoring. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { StateCache } from '#engine/runtime/generation/stateCache.ts'
import { packingPays, type OrtDecodeStep } from '#engine/runtime/ortDecodeStep.ts'
import { Sampler } from '#engine/runtime/sampling.ts'
import { randomStream } from '#shared/random.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { openDecodeStep, type OpenedStep } from './decodeStep.ts'
import { largestDifference } from './differences.ts'
import { randomSequence, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()

const plain: SamplingOptions = {
  temperature: 0.8,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  maxNewTokens: 1,
  minNewTokens: 0,
  greedy: false,
  stopIds: [],
  stopStrings: [],
}

/** Where a choice does not depend on the length. */
const anywhere = { generated: 1 }

describe.each([
  ['tiny-llama', false],
  ['tiny-qwen2', false],
  ['tiny-qwen3', false],
  ['tiny-lfm2', false],
  ['tiny-qwen3_5', false],
  ['tiny-granitemoehybrid', false],
  ['tiny-qwen3_moe', false],
  ['tiny-granitemoe', false],
  ['tiny-gpt_oss', false],
  ['tiny-gemma4', false],
  ['tiny-qwen2', true],
] as const)('%s, weights packed: %s', (name, packsWeights) => {
  let source: ModelSource
  let opened: OpenedStep
  let step: OrtDecodeStep
  beforeAll(async () => {
    source = await tinySource(folder, modelShapes[name])
    opened = await openDecodeStep(source, { packsWeights })
    step = opened.step
  })
  afterAll(() => opened[Symbol.dispose]())

  /** One pass of one row over `ids` behind the filled slots of `cache`; the new keys and values are appended. */
  async function pass(
    cache: StateCache,
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
      scored: Int32Array.of(ids.length - 1),
      inverseTemperatures: Float64Array.of(1 / 0.8),
      want,
      role: 'actor',
    })
    cache.resize(start + ids.length)
    cache.append(0, result.fresh, { row: 0, length: ids.length, count: ids.length })
    return result.scores
  }

  const { ids } = randomSequence(258, 21, 1)

  test('a prompt in one pass, in pieces and token by token gives the same probabilities', async () => {
    const whole = await pass(new StateCache(step.states, 1, 0), ids)
    for (const size of [1, 6, 20]) {
      const cache = new StateCache(step.states, 1, 0)
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

  test('probabilities are the softmax of the tempered logits', async () => {
    const logits = await pass(new StateCache(step.states, 1, 0), ids, 'logits')
    const probabilities = await pass(new StateCache(step.states, 1, 0), ids)
    const weights = Float64Array.from(logits, (logit) => Math.exp(logit))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    expect(
      largestDifference(
        weights.map((weight) => weight / total),
        probabilities,
      ),
    ).toBeLessThan(1e-6)
  })

  test('the block a uniform number falls in is the one that the whole row says', async () => {
    const probabilities = Float64Array.from(await pass(new StateCache(step.states, 1, 0), ids))
    const sampler = new Sampler(step.vocabSize, plain)
    const stream = randomStream(5)
    const draws = 600
    const counts = new Float64Array(step.vocabSize)
    const rows = 100
    for (let start = 0; start < draws; start += rows) {
      const uniforms = Float64Array.from({ length: rows }, (_, row) => stream.uniformAt(start + row))
      const choices = await chosen(uniforms)
      for (const [row, uniform] of uniforms.entries()) {
        const { id, logprob } = sampler.fromChoice(choices[row]!, anywhere, uniform)
        expect(Math.abs(logprob - Math.log(probabilities[id]!))).toBeLessThan(1e-5)
        const below = probabilities.subarray(0, id).reduce((sum, p) => sum + p, 0)
        expect(uniform).toBeGreaterThan(below - 1e-5)
        expect(uniform).toBeLessThan(below + probabilities[id]! + 1e-5)
        counts[id]!++
      }
    }
    // Half of the vocabulary at a time: as often as its share says.
    for (const parity of [0, 1]) {
      const share = probabilities.reduce((sum, p, id) => sum + (id % 2 === parity ? p : 0), 0)
      const found = counts.reduce((sum, count, id) => sum + (id % 2 === parity ? count : 0), 0) / draws
      expect(Math.abs(found - share)).toBeLessThan(4 * Math.sqrt((share * (1 - share)) / draws))
    }
  })

  test('the largest and the smallest uniform number choose a token too', async () => {
    const sampler = new Sampler(step.vocabSize, plain)
    const uniforms = Float64Array.of(0, 1 - 2 ** -53)
    const [first, last] = await chosen(uniforms)
    expect(sampler.fromChoice(first!, anywhere, 0).id).toBe(0)
    expect(sampler.fromChoice(last!, anywhere, 1 - 2 ** -53).id).toBeGreaterThan(step.vocabSize - 4)
  })

  test('a row that may not take some ids yet is drawn from the others, beside one that may take all', async () => {
    const probabilities = Float64Array.from(await pass(new StateCache(step.states, 1, 0), ids))
    const likeliest = [...probabilities.keys()].sort((a, b) => probabilities[b]! - probabilities[a]!)
    const ends = [0, step.vocabSize - 1, ...likeliest.slice(0, 6)]
    const early = new Sampler(step.vocabSize, { ...plain, minNewTokens: 1, stopIds: ends })
    const stream = randomStream(6)
    const uniforms = Float64Array.from({ length: 200 }, (_, row) => stream.uniformAt(row))
    const isEarly = (row: number) => row % 2 === 0
    const choices = await chosen(
      uniforms,
      Array.from(uniforms, (_, row) => (isEarly(row) ? early.leftOut(0) : early.leftOut(1))),
    )
    const kept = probabilities.map((p, id) => (ends.includes(id) ? 0 : p))
    const sumOf = (values: Float64Array, end: number) =>
      values.subarray(0, end).reduce((sum, p) => sum + p, 0)
    let ended = 0
    for (const [row, uniform] of uniforms.entries()) {
      const { id, logprob } = early.fromChoice(choices[row]!, { generated: isEarly(row) ? 0 : 1 }, uniform)
      expect(Math.abs(logprob - Math.log(probabilities[id]!))).toBeLessThan(1e-5)
      const drawnFrom = isEarly(row) ? kept : probabilities
      const target = uniform * sumOf(drawnFrom, step.vocabSize)
      expect(drawnFrom[id]).toBeGreaterThan(0)
      expect(target).toBeGreaterThan(sumOf(drawnFrom, id) - 1e-5)
      expect(target).toBeLessThan(sumOf(drawnFrom, id + 1) + 1e-5)
      if (ends.includes(id)) ended++
    }
    expect(ended).toBeGreaterThan(0) // in the rows that may
  })

  test('a row that may take no id at all says that none has a probability', async () => {
    const all = Array.from({ length: step.vocabSize }, (_, id) => id)
    const sampler = new Sampler(step.vocabSize, { ...plain, minNewTokens: 1, stopIds: all })
    const [choice] = await chosen(Float64Array.of(0.5), [all])
    expect(() => sampler.fromChoice(choice!, { generated: 0 }, 0.5)).toThrow('no finite probability')
  })

  /** What the graph chooses after `ids` for each uniform number, all rows in one pass. */
  async function chosen(
    uniforms: Float64Array,
    leftOut?: readonly (readonly number[])[],
  ): Promise<Float32Array[]> {
    const rows = uniforms.length
    const repeated = (values: Int32Array) =>
      Int32Array.from({ length: rows * values.length }, (_, index) => values[index % values.length]!)
    const { scores } = await step.run({
      rows,
      length: ids.length,
      ids: repeated(ids),
      positions: repeated(ids.map((_, index) => index)),
      cache: new StateCache(step.states, rows, 0),
      scored: Int32Array.from({ length: rows }, (_, row) => (row + 1) * ids.length - 1),
      inverseTemperatures: new Float64Array(rows).fill(1 / 0.8),
      uniforms,
      ...(leftOut ? { leftOut } : {}),
      want: 'choice',
      role: 'actor',
    })
    const width = step.choiceWidth! + 3
    return Array.from({ length: rows }, (_, row) => scores.slice(row * width, (row + 1) * width))
  }

  test('several positions of each row may have scores, each with its own number and what it leaves out', async () => {
    const ways = [
      { uniform: 0.2, leftOut: [] },
      { uniform: 0.7, leftOut: [3, 200] },
      { uniform: 0.7, leftOut: [] },
    ]
    const alone = await Promise.all(
      ways.map(({ uniform, leftOut }) => chosen(Float64Array.of(uniform), [leftOut])),
    )
    const rows = 2
    const { scores } = await step.run({
      rows,
      length: ids.length,
      ids: Int32Array.from([...ids.subarray(0, 20), 0, ...ids]),
      positions: Int32Array.from({ length: rows * ids.length }, (_, index) => index % ids.length),
      cache: new StateCache(step.states, rows, 0),
      // Of the first row another place than the last: the same prompt without its end.
      scored: Int32Array.of(2 * ids.length - 1, 19, 2 * ids.length - 1, 2 * ids.length - 1),
      inverseTemperatures: Float64Array.of(1 / 0.8, 1 / 1.3, 1 / 0.8, 1 / 0.8),
      uniforms: Float64Array.of(0.2, 0.4, 0.7, 0.7),
      leftOut: [[], [], [3, 200], []],
      want: 'choice',
      role: 'actor',
    })
    const width = step.choiceWidth! + 3
    const [first, , second, third] = [0, 1, 2, 3].map((index) =>
      scores.slice(index * width, (index + 1) * width),
    )
    for (const [index, found] of [first, second, third].entries()) {
      expect(largestDifference(found!, alone[index]![0]!)).toBeLessThan(1e-5)
    }
  })

  test('what lies in slots that the mask hides does not matter', async () => {
    const run = async (filler: number) => {
      const cache = new StateCache(step.states, 1, 0)
      await pass(cache, ids.subarray(0, 20))
      cache.resize(24)
      for (const [index, { kind, heads, channels }] of step.states.entries()) {
        if (kind !== 'slots') continue
        const { data } = cache.view(index, 1)
        for (let head = 0; head < heads; head++)
          data.fill(filler, (head * 24 + 20) * channels, (head + 1) * 24 * channels)
      }
      const mask = new Float32Array(25).fill(-1e9, 20, 24)
      const { scores } = await step.run({
        rows: 1,
        length: 1,
        ids: ids.subarray(20),
        positions: Int32Array.of(20),
        cache,
        mask,
        scored: Int32Array.of(0),
        inverseTemperatures: Float64Array.of(1 / 0.8),
        want: 'probabilities',
        role: 'actor',
      })
      return scores
    }
    const whole = await pass(new StateCache(step.states, 1, 0), ids)
    expect(await run(1e3)).toEqual(await run(0))
    expect(largestDifference(await run(-5), whole)).toBeLessThan(1e-6)
  })

  test('positions may lie far beyond the number of tokens in a pass', async () => {
    const cache = new StateCache(step.states, 1, 0)
    const at = async (position: number) => {
      const { scores } = await step.run({
        rows: 1,
        length: 1,
        ids: Int32Array.of(7),
        positions: Int32Array.of(position),
        cache,
        mask: new Float32Array(1),
        scored: Int32Array.of(0),
        inverseTemperatures: Float64Array.of(1),
        want: 'probabilities',
        role: 'actor',
      })
      return scores
    }
    // A token that sees only itself is the same wherever it stands: rotation is relative.
    expect(largestDifference(await at(500), await at(0))).toBeLessThan(1e-6)
  })
})

test.each([
  [1, 256, true],
  [1, 255, false],
  [8, 256, true],
  [9, 1000, false],
])('packing for %i rows of %i tokens pays: %s', (rows, tokens, pays) => {
  expect(packingPays(rows, tokens)).toBe(pays)
})

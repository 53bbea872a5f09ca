import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Int8Form } from '#engine/models/blocks.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { adamw } from '#engine/optimizers/adamw.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import { initialState } from '#engine/optimizers/optimizer.ts'
import type { Completion, SamplingOptions } from '#engine/policy.ts'
import { processorFeatures } from '#engine/processor.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asInt8Source } from '#host/models/int8Cache.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import {
  completionsOf,
  flat,
  flatGradient,
  openFresh,
  openTiny,
  randomAdapter,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  unfiltered,
} from './tinyModel.ts'

const folder = temporaryFolder()
let source: ModelSource
let policy: OrtPolicy
beforeAll(async () => {
  source = await tinySource(folder)
  policy = await openTiny(source)
})
afterAll(() => policy[Symbol.dispose]())

/** Ragged prompts with two samples each. */
const requests = [3, 17, 1, 8].map((length, index) => ({
  promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
  streams: [0, 1].map((sample) => randomStream(7, index, sample)),
}))

/** Each completion's recorded log-probabilities and those of scoring it. */
async function recordedAndScored(of: OrtPolicy, sampling: SamplingOptions, role: 'actor' | 'base' = 'actor') {
  const completions = await completionsOf(of, requests, { role, sampling })
  const sequences = completions.map(({ request, ids }) => {
    const prompt = requests[request]!.promptIds
    const actionMask = new Uint8Array(prompt.length + ids.length - 1).fill(1, prompt.length - 1)
    return { ids: Int32Array.from([...prompt, ...ids]), actionMask }
  })
  const temperature = sampling.greedy ? 1 : sampling.temperature
  const heads = await of.score(sequences, { role, temperature })
  const scored = completions.map(({ request }, row) =>
    heads[row]!.logprobs.subarray(requests[request]!.promptIds.length - 1),
  )
  return { completions, scored }
}

const gaps = ({
  completions,
  scored,
}: {
  completions: readonly Completion[]
  scored: readonly Float64Array[]
}): number[] =>
  completions.flatMap(({ logprobs }, row) =>
    Array.from(logprobs, (logprob, at) => Math.abs(logprob - scored[row]![at]!)),
  )

describe('sampler and learner', () => {
  test.each([
    ['plain', unfiltered],
    ['cool', { ...unfiltered, temperature: 0.6 }],
    ['filtered', { ...unfiltered, temperature: 0.9, topK: 20, topP: 0.9, minP: 0.01 }],
    ['penalised', { ...unfiltered, repetitionPenalty: 1.3, minNewTokens: 3, stopIds: [5] }],
    ['too short to end', { ...unfiltered, minNewTokens: 3, stopIds: [5, 100, 200] }],
    ['greedy', { ...unfiltered, greedy: true }],
  ] as const)('record the same log-probabilities to 1e-5 (%s)', async (_, sampling) => {
    const result = await recordedAndScored(policy, sampling)
    expect(result.completions).toHaveLength(8)
    expect(Math.max(...gaps(result))).toBeLessThan(1e-5)
  })

  test('do so for the base without its adapter, which is another distribution', async () => {
    const base = await recordedAndScored(policy, unfiltered, 'base')
    expect(Math.max(...gaps(base))).toBeLessThan(1e-5)
    const actor = await recordedAndScored(policy, unfiltered)
    expect(largestDifference(base.scored[0]!, actor.scored[0]!)).toBeGreaterThan(0.01)
  })

  /** Of recorded from scored, with rollouts in 8 bits; the learner reads the exact weights all the same. */
  async function meanGap(form: Int8Form): Promise<number> {
    const quantized = await asInt8Source(source, folder, form)
    using rollout = await openTiny(quantized, { rolloutPrecision: 'int8' })
    const found = gaps(await recordedAndScored(rollout, unfiltered))
    const sequences = [randomSequence(258, 20, 1)]
    const [exact] = await policy.score(sequences, { role: 'actor', temperature: 1 })
    const [ofInt8] = await rollout.score(sequences, { role: 'actor', temperature: 1 })
    expect(largestDifference(ofInt8!.logprobs, exact!.logprobs)).toBeLessThan(1e-6)
    return found.reduce((sum, gap) => sum + gap, 0) / found.length
  }

  test('differ a little when rollouts read weights of 8 bits', async () => {
    const gap = await meanGap('blocks')
    expect(gap).toBeGreaterThan(1e-4)
    expect(gap).toBeLessThan(0.05)
  })

  test.skipIf(!/vnni/.test([...processorFeatures()].join()))(
    'differ less when the inputs of products keep 16 bits (skipped without VNNI)',
    async () => {
      const gap = await meanGap('rows')
      expect(gap).toBeGreaterThan(1e-5)
      expect(gap).toBeLessThan(await meanGap('blocks'))
    },
  )
})

describe('generation', () => {
  test('does not depend on how many rows decode together', async () => {
    const together = await completionsOf(policy, requests, { role: 'actor', sampling: unfiltered })
    using narrow = await openTiny(source, { maxRows: 1 })
    const alone = await completionsOf(narrow, requests, { role: 'actor', sampling: unfiltered })
    expect(alone.map(({ ids }) => [...ids])).toEqual(together.map(({ ids }) => [...ids]))
    expect(narrow.lastGeneration?.peakRows).toBe(1)
    expect(policy.lastGeneration?.peakRows).toBe(4)
    // Each prompt is computed once for both of its samples.
    expect(policy.lastGeneration?.prefillTokens).toBe(3 + 17 + 1 + 8)
  })

  /** One that repeats itself is sure of what comes next. */
  const repetitive = Int32Array.from({ length: 40 }, (_, index) => 30 + (index % 5))

  test.each([
    ['f32', 'cool', { ...unfiltered, temperature: 0.05 }],
    ['f32', 'greedy', { ...unfiltered, greedy: true }],
    ['f32', 'filtered', { ...unfiltered, temperature: 0.2, topK: 5 }],
    ['f32', 'too short to end', { ...unfiltered, temperature: 0.05, minNewTokens: 30, stopIds: [3, 100] }],
    ['blocks', 'greedy', { ...unfiltered, greedy: true }],
  ] as const)(
    'with drafts chooses what it chooses without, where few rows decode (%s, %s)',
    async (form, _, given) => {
      const sampling = { ...given, maxNewTokens: 40 }
      const read = form === 'f32' ? source : await asInt8Source(source, folder, form)
      using wide = await openTiny(read, { maxRows: 5, rolloutPrecision: form === 'f32' ? 'f32' : 'int8' })
      const group = (count: number) => [
        {
          promptIds: repetitive,
          streams: Array.from({ length: count }, (_, sample) => randomStream(7, sample)),
        },
      ]
      const many = await completionsOf(wide, group(5), { role: 'actor', sampling })
      expect(wide.lastGeneration?.draftedTokens).toBe(0)
      const few = await completionsOf(wide, group(2), { role: 'actor', sampling })
      const { draftedTokens, decodeSteps } = wide.lastGeneration!
      expect(draftedTokens).toBeGreaterThan(0)
      expect(decodeSteps).toBeLessThan(39)
      expect(few.map(({ ids }) => [...ids])).toEqual(many.slice(0, 2).map(({ ids }) => [...ids]))
      for (const [row, { logprobs }] of few.entries())
        expect(largestDifference(logprobs, many[row]!.logprobs)).toBeLessThan(form === 'f32' ? 1e-4 : 1e-3)
    },
  )

  test('leaves the same ids out before the minimum length, in the graph and of whole rows', async () => {
    const stopIds = Array.from({ length: 100 }, (_, index) => 2 * index)
    const sampling = { ...unfiltered, minNewTokens: 5, stopIds }
    const inGraph = await completionsOf(policy, requests, { role: 'actor', sampling })
    const wholeRows = { ...sampling, topLogprobs: 1 } // which only whole rows have
    const ofRows = await completionsOf(policy, requests, { role: 'actor', sampling: wholeRows })
    expect(inGraph.map(({ ids }) => [...ids])).toEqual(ofRows.map(({ ids }) => [...ids]))
    for (const { ids } of inGraph) expect(ids.length).toBeGreaterThan(5)
    expect(inGraph.some(({ stopReason }) => stopReason === 'stop-id')).toBe(true)
  })

  test('sees an update without being told', async () => {
    using learning = await openTiny(source)
    const [before] = await completionsOf(learning, requests, {
      role: 'actor',
      sampling: { ...unfiltered, greedy: true },
    })
    learning.restoreAdapter('actor', randomAdapter(source.config, tinyLora, 99))
    const result = await recordedAndScored(learning, { ...unfiltered, greedy: true })
    expect(Math.max(...gaps(result))).toBeLessThan(1e-5)
    expect(result.completions[0]!.logprobs).not.toEqual(before!.logprobs)
  })

  test('goes on to the end of a context that a model allows', async () => {
    const small = await tinySource(folder, { ...modelShapes['tiny-qwen3'], maxPositions: 24 })
    using rollout = await openTiny(small)
    expect(rollout.contextLength).toBe(24)
    const found = await completionsOf(rollout, requests, {
      role: 'actor',
      sampling: { ...unfiltered, maxNewTokens: 100 },
    })
    expect(found.map(({ request, ids }) => requests[request]!.promptIds.length + ids.length)).toEqual(
      new Array(8).fill(24),
    )
    using shorter = await openTiny(small, { contextLength: 20 })
    expect(shorter.contextLength).toBe(20)
  })
})

describe('an update', () => {
  const sequences = [randomSequence(258, 9, 1, 1), randomSequence(258, 14, 2, 1)]
  const coefficients = randomCoefficients(sequences, 4, false)
  const accumulate = (of: OrtPolicy) =>
    of.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => coefficients)
  const settings = { learningRates: { actor: 0.02, critic: 0 }, maxGradNorm: 0.7 }

  test('moves the actor as AdamW does, twice, and forgets the gradients', async () => {
    using learning = await openTiny(source)
    const parameters = flat(await learning.adapterTensors('actor'))
    const { buffers } = initialState(adamw, parameters.length)
    const [first, second] = [buffers['firstMoments']!, buffers['secondMoments']!]
    for (let step = 1; step <= 2; step++) {
      await accumulate(learning)
      const gradients = await flatGradient(learning)
      const numbers = [new HostNumbers({ values: parameters, gradients, first, second })]
      const groups = [{ numbers, learningRate: 0.02 }]
      const [norm] = await adamw.step({ groups, step, maxGradNorm: 0.7 }, adamw.settings)
      expect(await learning.update(settings)).toEqual({ gradNorms: { actor: norm } })
      expect(norm).toBeGreaterThan(0.7)
      expect(flat(await learning.adapterTensors('actor'))).toEqual(parameters)
      expect((await flatGradient(learning)).every((value) => value === 0)).toBe(true)
    }
    expect(await learning.optimizerState()).toEqual({ step: 2, buffers })
  })

  test('leaves base and reference where they were, and lowers the loss', async () => {
    using learning = await openTiny(source)
    const loss = async (role: 'actor' | 'base' | 'reference') => {
      const heads = await learning.score(sequences, { role, temperature: 1 })
      return heads.reduce(
        (sum, { logprobs }, row) =>
          sum + logprobs.reduce((part, value, at) => part + value * coefficients[row]!.logprobs[at]!, 0),
        0,
      )
    }
    const before = {
      actor: await loss('actor'),
      base: await loss('base'),
      reference: await loss('reference'),
    }
    expect(before.reference).toBe(before.actor)
    await accumulate(learning)
    await learning.update({ ...settings, learningRates: { actor: 1e-3, critic: 0 } })
    expect(await loss('actor')).toBeLessThan(before.actor)
    expect(await loss('base')).toBe(before.base)
    expect(await loss('reference')).toBe(before.reference)
  })

  test('continued from a stored state ends with the same bytes', async () => {
    using first = await openTiny(source)
    await accumulate(first)
    await first.update(settings)
    using second = await openTiny(source)
    second.restoreAdapter('actor', await first.adapterTensors('actor'))
    second.restoreOptimizer(await first.optimizerState())
    for (const each of [first, second]) {
      await accumulate(each)
      await each.update(settings)
    }
    expect(flat(await second.adapterTensors('actor'))).toEqual(flat(await first.adapterTensors('actor')))
  })

  test('states are copies: what is taken out does not change afterwards', async () => {
    using learning = await openTiny(source)
    const [tensors, optimizer] = [await learning.adapterTensors('actor'), await learning.optimizerState()]
    const kept = flat(tensors).slice()
    await accumulate(learning)
    await learning.update(settings)
    expect(flat(tensors)).toEqual(kept)
    expect(optimizer.step).toBe(0)
    expect(Object.values(optimizer.buffers).every((buffer) => buffer.every((value) => value === 0))).toBe(
      true,
    )
  })

  test('a stored state of another size is refused', () => {
    const wrong = {
      step: 1,
      buffers: { firstMoments: new Float32Array(3), secondMoments: new Float32Array(3) },
    }
    expect(() => policy.restoreOptimizer(wrong)).toThrow('optimizer buffer firstMoments')
  })
})

describe('adapters', () => {
  test('refreshing the reference mixes the actor in', async () => {
    using learning = await openTiny(source)
    const old = flat(await learning.adapterTensors('reference'))
    const fresh = randomAdapter(source.config, tinyLora, 42)
    learning.restoreAdapter('actor', fresh)
    await learning.refreshReference(0.25)
    const mixed = flat(fresh).map((value, at) => Math.fround(0.25 * value + 0.75 * old[at]!))
    expect(largestDifference(flat(await learning.adapterTensors('reference')), mixed)).toBeLessThan(1e-7)
    await learning.refreshReference(1)
    expect(flat(await learning.adapterTensors('reference'))).toEqual(flat(fresh))
  })

  test('a fresh one starts equal to the base, with the same values for the same seed', async () => {
    using fresh = await openFresh(source, { loraSeed: 3 })
    using again = await openFresh(source, { loraSeed: 3 })
    using other = await openFresh(source, { loraSeed: 4 })
    expect(flat(await again.adapterTensors('actor'))).toEqual(flat(await fresh.adapterTensors('actor')))
    expect(flat(await other.adapterTensors('actor'))).not.toEqual(flat(await fresh.adapterTensors('actor')))
    for (const { name, shape, data } of await fresh.adapterTensors('actor')) {
      const bound = name.endsWith('A') ? 1 / Math.sqrt(shape[1]!) : 0
      const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      expect(largest).toBeLessThanOrEqual(Math.fround(bound))
      expect(largest).toBeGreaterThanOrEqual(0.9 * bound)
    }
    const sequences = [randomSequence(258, 12, 5)]
    const [actor] = await fresh.score(sequences, { role: 'actor', temperature: 1 })
    const [base] = await fresh.score(sequences, { role: 'base', temperature: 1 })
    expect(actor).toEqual(base)
  })

  test('one that does not fit is an error that names the tensor', async () => {
    const adapter = randomAdapter(source.config)
    const named = 'model.layers.1.self_attn.k_proj.lora_A'
    const missing = openTiny(source, { adapter: adapter.filter(({ name }) => name !== named) })
    await expect(missing).rejects.toMatchObject({
      code: 'adapter/invalid',
      message: `The adapter lacks the tensor ${named}.`,
    })
    const short = adapter.map((tensor) =>
      tensor.name === named ? { ...tensor, shape: [2, 32], data: new Float32Array(64) } : tensor,
    )
    await expect(openTiny(source, { adapter: short })).rejects.toThrow(
      `${named} has shape [2, 32], expected [4, 32]`,
    )
  })

  test('on some linears only', async () => {
    const lora = { ...tinyLora, targets: ['v_proj', 'o_proj'] as const }
    using learning = await openTiny(source, { lora })
    const sequences = [randomSequence(258, 9, 1, 1)]
    await learning.accumulate(sequences, { temperature: 1, entropyGradient: false }, () =>
      randomCoefficients(sequences, 1, false),
    )
    const gradients = await learning.gradientTensors()
    expect(gradients).toHaveLength(2 * 2 * 2)
    for (const { data } of gradients) expect(data.some((value) => value !== 0)).toBe(true)
    expect(Math.max(...gaps(await recordedAndScored(learning, unfiltered)))).toBeLessThan(1e-5)
  })
})

test('scoring many sequences in batches keeps their order', async () => {
  const sequences = Array.from({ length: 40 }, (_, index) =>
    randomSequence(258, 2 + ((index * 37) % 180), index, 0.3),
  )
  const heads = await policy.score(sequences, { role: 'actor', temperature: 1 })
  expect(sequences.reduce((total, { ids }) => total + ids.length, 0)).toBeGreaterThan(3 * 1024)
  for (const index of [0, 7, 21, 39]) {
    const [alone] = await policy.score([sequences[index]!], { role: 'actor', temperature: 1 })
    expect(largestDifference(heads[index]!.logprobs, alone!.logprobs)).toBeLessThan(5e-6)
  }
})

test('there is no critic to ask', async () => {
  await expect(policy.score([randomSequence(9, 4, 1)], { role: 'critic', temperature: 1 })).rejects.toThrow(
    'without a critic',
  )
})

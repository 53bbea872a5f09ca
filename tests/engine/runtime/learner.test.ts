import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import type { AccumulateOptions, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { policyGradientError, policyGradientLimit } from './policyGradient.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import {
  flatGradient,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
} from './tinyModel.ts'

const folder = temporaryFolder()
const options: AccumulateOptions = { temperature: 0.9, entropyGradient: true }

let source: ModelSource
let policy: OrtPolicy
beforeAll(async () => {
  source = await tinySource(folder)
  policy = await openTiny(source)
})
afterAll(() => policy[Symbol.dispose]())

const ragged = [5, 23, 2, 14, 9].map((length, index) => randomSequence(288, length, index))

/** The gradient of one micro-batch, and its heads. */
async function learn(
  of: OrtPolicy,
  sequences: readonly TokenSequence[],
  coefficients: readonly LossCoefficients[],
  how = options,
) {
  of.discardGradients()
  const heads = await of.accumulate(sequences, how, () => coefficients)
  const gradient = await flatGradient(of)
  of.discardGradients()
  return { heads, gradient }
}

describe('one gradient, however it is computed', () => {
  const coefficients = randomCoefficients(ragged, 1, true)

  test('from saved activations as from recomputed ones', async () => {
    using saving = await openTiny(source, { activations: 'save' })
    const recomputed = await learn(policy, ragged, coefficients)
    const saved = await learn(saving, ragged, coefficients)
    expect(relativeError(saved.gradient, recomputed.gradient)).toBeLessThan(1e-6)
    expect(saved.heads).toEqual(recomputed.heads)
  })

  test('packed together as each sequence alone', async () => {
    const together = await learn(policy, ragged, coefficients)
    const sum = new Float64Array(together.gradient.length)
    for (const [index, sequence] of ragged.entries()) {
      const alone = await learn(policy, [sequence], [coefficients[index]!])
      alone.gradient.forEach((value, at) => (sum[at]! += value))
      expect(largestDifference(alone.heads[0]!.logprobs, together.heads[index]!.logprobs)).toBeLessThan(5e-6)
      expect(largestDifference(alone.heads[0]!.entropies, together.heads[index]!.entropies)).toBeLessThan(
        5e-6,
      )
    }
    expect(relativeError(sum, together.gradient)).toBeLessThan(5e-6)
  })

  test('micro-batches add up until they are discarded', async () => {
    const together = await learn(policy, ragged, coefficients)
    policy.discardGradients()
    await policy.accumulate(ragged.slice(0, 2), options, () => coefficients.slice(0, 2))
    await policy.accumulate(ragged.slice(2), options, () => coefficients.slice(2))
    expect(relativeError(await flatGradient(policy), together.gradient)).toBeLessThan(5e-6)
    policy.discardGradients()
    expect((await flatGradient(policy)).every((value) => value === 0)).toBe(true)
  })

  test('the heads of accumulate are those of score', async () => {
    const { heads } = await learn(policy, ragged, coefficients)
    const scored = await policy.score(ragged, { role: 'actor', temperature: options.temperature })
    for (const [index, { logprobs, entropies }] of heads.entries()) {
      expect(largestDifference(logprobs, scored[index]!.logprobs)).toBeLessThan(5e-6)
      expect(largestDifference(entropies, scored[index]!.entropies)).toBeLessThan(5e-6)
    }
  })
})

test('a target whose probability is no f32 number has a finite score, and the slope it should have', async () => {
  const cold = { temperature: 0.002, entropyGradient: false }
  const coefficients = randomCoefficients(ragged, 1, false)
  const { heads, gradient } = await learn(policy, ragged, coefficients, cold)
  const scored = await policy.score(ragged, { role: 'actor', temperature: cold.temperature })
  expect(Math.min(...heads.flatMap(({ logprobs }) => [...logprobs]))).toBeLessThan(-120)
  for (const [index, { logprobs, entropies }] of heads.entries()) {
    expect(largestDifference(logprobs, scored[index]!.logprobs)).toBeLessThan(1e-3)
    expect(largestDifference(entropies, scored[index]!.entropies)).toBeLessThan(1e-3)
  }
  const whole = await learn(policy, ragged, coefficients, { ...cold, entropyGradient: true })
  expect(relativeError(gradient, whole.gradient)).toBeLessThan(1e-5)
})

test('a vocabulary of several slices is learned from as a whole one', async () => {
  using large = await openTiny(await tinySource(folder, { vocabSize: 5000 }))
  const sequences = [40, 17].map((length, index) => randomSequence(5000, length, index))
  const coefficients = randomCoefficients(sequences, 1, false)
  const sliced = await learn(large, sequences, coefficients, { temperature: 0.5, entropyGradient: false })
  const whole = await learn(large, sequences, coefficients, { temperature: 0.5, entropyGradient: true })
  expect(relativeError(sliced.gradient, whole.gradient)).toBeLessThan(1e-5)
  for (const [index, { logprobs, entropies }] of sliced.heads.entries()) {
    expect(largestDifference(logprobs, whole.heads[index]!.logprobs)).toBeLessThan(1e-5)
    expect(largestDifference(entropies, whole.heads[index]!.entropies)).toBeLessThan(1e-5)
  }
})

describe('what must not matter', () => {
  test('tokens after the last action', async () => {
    const short = randomSequence(288, 9, 3, 1)
    const longer = {
      ids: Int32Array.from([...short.ids, 7, 7, 200, 1]),
      actionMask: Uint8Array.from([...short.actionMask, 0, 0, 0, 0]),
    }
    const coefficients = randomCoefficients([short], 2, true)
    const padded = coefficients.map(({ logprobs, entropies }) => ({
      logprobs: Float64Array.from([...logprobs, 5, 5, 5, 5]),
      entropies: Float64Array.from([...entropies!, 5, 5, 5, 5]),
      values: null,
    }))
    const [plain, extended] = [
      await learn(policy, [short], coefficients),
      await learn(policy, [longer], padded),
    ]
    expect(extended.gradient).toEqual(plain.gradient)
    expect([...extended.heads[0]!.logprobs]).toEqual([...plain.heads[0]!.logprobs, 0, 0, 0, 0])
  })

  test('coefficients outside the action mask', async () => {
    const sequence = randomSequence(288, 12, 4, 0.5)
    const [inside] = randomCoefficients([sequence], 3, true)
    const everywhere = {
      logprobs: inside!.logprobs.map((value, at) => (sequence.actionMask[at] === 1 ? value : 1e3)),
      entropies: inside!.entropies!.map((value, at) => (sequence.actionMask[at] === 1 ? value : 1e3)),
      values: null,
    }
    const masked = await learn(policy, [sequence], [inside!])
    expect((await learn(policy, [sequence], [everywhere])).gradient).toEqual(masked.gradient)
    expect(
      masked.heads[0]!.logprobs.filter((_, at) => sequence.actionMask[at] === 0).every(
        (value) => value === 0,
      ),
    ).toBe(true)
  })

  test('sequences without any action, alone or among others', async () => {
    const silent = { ids: Int32Array.of(1, 2, 3, 4), actionMask: new Uint8Array(3) }
    const empty = { logprobs: new Float64Array(3), entropies: null, values: null }
    let asked = 0
    policy.discardGradients()
    const heads = await policy.accumulate([silent, silent], options, (given) => {
      asked = given.length
      return [empty, empty]
    })
    expect(asked).toBe(2)
    expect(heads.map(({ logprobs }) => [...logprobs])).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ])
    expect((await flatGradient(policy)).every((value) => value === 0)).toBe(true)

    const spoken = randomSequence(288, 8, 6, 1)
    const coefficients = randomCoefficients([spoken], 4, true)
    const alone = await learn(policy, [spoken], coefficients)
    const among = await learn(policy, [silent, spoken, silent], [empty, coefficients[0]!, empty])
    expect(relativeError(among.gradient, alone.gradient)).toBeLessThan(1e-6)
    expect(largestDifference(among.heads[1]!.logprobs, alone.heads[0]!.logprobs)).toBeLessThan(5e-6)
    expect((await policy.score([silent], { role: 'actor', temperature: 1 }))[0]!.logprobs).toEqual(
      new Float64Array(3),
    )
  })

  test('the entropy pass, when no coefficient asks for it', async () => {
    const coefficients = randomCoefficients(ragged, 5, false)
    const without = await learn(policy, ragged, coefficients, { temperature: 0.9, entropyGradient: false })
    const withZero = await learn(policy, ragged, coefficients)
    expect(relativeError(withZero.gradient, without.gradient)).toBeLessThan(1e-6)
  })
})

describe.each(['tiny-llama', 'tiny-qwen2', 'tiny-qwen3'] as const)('%s', (name) => {
  test.each(['recompute', 'save'] as const)(
    'the gradient agrees with differences of the score (%s)',
    async (activations) => {
      const model = await tinySource(folder, modelShapes[name])
      using learner = await openTiny(model, { activations })
      const sequences = [7, 12].map((length) => randomSequence(model.config.vocabSize, length, length))
      const coefficients = randomCoefficients(sequences, 8, true)
      const check = { sequences, coefficients, temperature: 0.9, seed: 3 }
      expect(await policyGradientError(learner, check)).toBeLessThan(policyGradientLimit)
    },
  )
})

test('a head computed in several chunks gives what single tokens give', async () => {
  // 80 MB of logits hold 32 rows of this vocabulary: 75 rows are three chunks, the last one short.
  const large = await tinySource(folder, {
    vocabSize: 620_000,
    layers: 1,
    hiddenSize: 8,
    headDim: 4,
    heads: 2,
    kvHeads: 1,
    intermediateSize: 8,
  })
  const lora = { ...tinyLora, targets: ['down_proj'] as const }
  using learner = await openTiny(large, { lora })
  const sequence = randomSequence(620_000, 76, 1, 1)
  const [whole] = await learner.score([sequence], { role: 'actor', temperature: 1 })
  for (const at of [0, 31, 32, 63, 64, 74]) {
    const actionMask = new Uint8Array(75)
    actionMask[at] = 1
    const [one] = await learner.score([{ ...sequence, actionMask }], { role: 'actor', temperature: 1 })
    expect(Math.abs(one!.logprobs[at]! - whole!.logprobs[at]!)).toBeLessThan(5e-6)
    expect(one!.logprobs[at]).not.toBe(0)
  }

  const coefficients = randomCoefficients([sequence], 9, true)
  const chunked = await learn(learner, [sequence], coefficients)
  for (const from of [0, 32, 64]) {
    const actionMask = new Uint8Array(75).fill(1, from, from + 32)
    await learner.accumulate([{ ...sequence, actionMask }], options, () => coefficients)
  }
  expect(relativeError(await flatGradient(learner), chunked.gradient)).toBeLessThan(5e-6)
})

test('an abort between layers stops and leaves what was accumulated', async () => {
  const controller = new AbortController()
  policy.discardGradients()
  const run = policy.accumulate(ragged, { ...options, signal: controller.signal }, (heads) => {
    controller.abort(new Error('enough'))
    return randomCoefficients(ragged.slice(0, heads.length), 1, true)
  })
  await expect(run).rejects.toThrow('enough')
  expect((await flatGradient(policy)).every((value) => value === 0)).toBe(true)
})

/** What the critic computes: values and gradients. What happens to its parameters: criticTraining.test.ts. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { valueHeadNames } from '#engine/models/learningGraphs.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { AccumulateOptions, Heads, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { policyGradientError, policyGradientLimit } from './policyGradient.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import { plainValues } from './plainDecoder.ts'
import { learnAlone, learnTogether } from './sharedPrefixes.ts'
import {
  flatGradient,
  openCritic,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
const options: AccumulateOptions = { temperature: 0.9, entropyGradient: true }
const critic = { role: 'critic', temperature: 0.9 } as const

let source: ModelSource
let policy: OrtPolicy
beforeAll(async () => {
  source = await tinySource(folder)
  policy = await openCritic(source)
})
afterAll(() => policy[Symbol.dispose]())

const ragged = [5, 23, 2, 14, 9].map((length, index) => randomSequence(288, length, index))
const both = withValues(randomCoefficients(ragged, 1, true), ragged, 2)

/** The gradients of one micro-batch, and its heads. */
async function learn(
  of: OrtPolicy,
  sequences: readonly TokenSequence[],
  coefficients: readonly LossCoefficients[],
  how = options,
) {
  of.discardGradients()
  const heads = await of.accumulate(sequences, how, () => coefficients)
  const gradients = { actor: await flatGradient(of), critic: await flatGradient(of, 'critic') }
  of.discardGradients()
  return { heads, ...gradients }
}

const isZero = (array: ArrayLike<number>): boolean => Array.from(array).every((value) => value === 0)

describe('values', () => {
  test.each(['tiny-llama', 'tiny-qwen2', 'tiny-qwen3'] as const)(
    'are those of a decoder in plain loops, where actions stand (%s)',
    async (name) => {
      const model = await tinySource(folder, modelShapes[name])
      using valuing = await openCritic(model)
      const plain = { source: model, adapter: await valuing.adapterTensors('critic'), lora: tinyLora }
      const heads = await valuing.score(ragged, critic)
      ragged.forEach(({ ids, actionMask }, row) => {
        const expected = plainValues(plain, ids, valuing.valueHead())
        const masked = Array.from(actionMask, (isAction, at) => isAction * expected[at]!)
        expect(largestDifference(heads[row]!.values!, masked)).toBeLessThan(5e-6)
      })
      expect(Math.max(...heads[1]!.values!) - Math.min(...heads[1]!.values!)).toBeGreaterThan(0.1)
    },
  )

  test('come from the critic alone, and nothing else does', async () => {
    const [valued] = await policy.score(ragged.slice(1, 2), critic)
    expect([isZero(valued!.logprobs), isZero(valued!.entropies)]).toEqual([true, true])
    for (const role of ['actor', 'reference', 'base'] as const) {
      expect((await policy.score(ragged, { ...critic, role })).map(({ values }) => values)).toEqual(
        ragged.map(() => null),
      )
    }
  })

  test('of sequences without any action are 0', async () => {
    const silent = { ids: Int32Array.of(1, 2, 3), actionMask: new Uint8Array(2) }
    const empty = { logprobs: new Float64Array(2), entropies: null, values: new Float64Array(2) }
    expect((await policy.score([silent], critic))[0]!.values).toEqual(new Float64Array(2))
    const { heads } = await learn(policy, [silent], [empty])
    expect(heads[0]!.values).toEqual(new Float64Array(2))
  })

  test('of many sequences, scored in batches, keep their order', async () => {
    const sequences = Array.from({ length: 26 }, (_, index) =>
      randomSequence(288, 2 + ((index * 37) % 180), index, 0.3),
    )
    const heads = await policy.score(sequences, critic)
    expect(sequences.reduce((total, { ids }) => total + ids.length, 0)).toBeGreaterThan(2048)
    for (const index of [0, 25]) {
      const [alone] = await policy.score([sequences[index]!], critic)
      expect(largestDifference(heads[index]!.values!, alone!.values!)).toBeLessThan(5e-6)
    }
  })

  test('in accumulate are those of score, beside the actor’s other heads', async () => {
    let given: readonly Heads[] = []
    const heads = await policy.accumulate(ragged, options, (seen) => {
      given = seen
      return both
    })
    policy.discardGradients()
    expect(heads).toEqual(given)
    const values = await policy.score(ragged, critic)
    const spoken = await policy.score(ragged, { ...critic, role: 'actor' })
    heads.forEach((head, row) => {
      expect(largestDifference(head.values!, values[row]!.values!)).toBeLessThan(5e-6)
      expect(largestDifference(head.logprobs, spoken[row]!.logprobs)).toBeLessThan(5e-6)
      expect(largestDifference(head.entropies, spoken[row]!.entropies)).toBeLessThan(5e-6)
    })
  })
})

describe.each(['tiny-llama', 'tiny-qwen2', 'tiny-qwen3'] as const)('gradients of %s', (name) => {
  test.each(['recompute', 'save'] as const)(
    'agree with differences of the values (%s)',
    async (activations) => {
      const model = await tinySource(folder, modelShapes[name])
      using valuing = await openCritic(model, { activations })
      const sequences = [7, 12].map((length) => randomSequence(model.config.vocabSize, length, length))
      const coefficients = withValues(
        sequences.map(({ actionMask }) => ({
          logprobs: new Float64Array(actionMask.length),
          entropies: null,
          values: null,
        })),
        sequences,
        8,
      )
      const check = { sequences, coefficients, temperature: 0.9, seed: 3, role: 'critic' } as const
      for (const part of ['lora_A', 'lora_B', valueHeadNames.weight, valueHeadNames.bias]) {
        const error = await policyGradientError(valuing, {
          ...check,
          moves: (tensor) => tensor.endsWith(part),
        })
        expect(error, part).toBeLessThan(policyGradientLimit)
      }
    },
  )
})

describe('one gradient, however it is computed', () => {
  test('from saved activations as from recomputed ones', async () => {
    using saving = await openCritic(source, { activations: 'save' })
    const recomputed = await learn(policy, ragged, both)
    const saved = await learn(saving, ragged, both)
    expect(relativeError(saved.critic, recomputed.critic)).toBeLessThan(1e-6)
    expect(relativeError(saved.actor, recomputed.actor)).toBeLessThan(1e-6)
    expect(saved.heads).toEqual(recomputed.heads)
  })

  test('packed together as each sequence alone', async () => {
    const together = await learn(policy, ragged, both)
    const sum = new Float64Array(together.critic.length)
    for (const [index, sequence] of ragged.entries()) {
      const alone = await learn(policy, [sequence], [both[index]!])
      alone.critic.forEach((value, at) => (sum[at]! += value))
      expect(largestDifference(alone.heads[0]!.values!, together.heads[index]!.values!)).toBeLessThan(5e-6)
    }
    expect(relativeError(sum, together.critic)).toBeLessThan(5e-6)
  })

  test('with a common prefix computed once as for each sequence alone', async () => {
    const alone = await learnAlone(policy, 'critic')
    const together = await learnTogether(policy, 'critic')
    expect(relativeError(together.gradient, alone.gradient)).toBeLessThan(1e-5)
  })

  test('the actor’s is that of a policy without a critic', async () => {
    using plain = await openTiny(source)
    await plain.accumulate(ragged, options, () => both.map((row) => ({ ...row, values: null })))
    expect((await learn(policy, ragged, both)).actor).toEqual(await flatGradient(plain))
  })
})

describe('what must not matter', () => {
  test('tokens after the last action and coefficients outside the mask', async () => {
    const short = randomSequence(288, 9, 3, 0.6)
    short.actionMask[7] = 1
    const longer = {
      ids: Int32Array.from([...short.ids, 7, 7, 200, 1]),
      actionMask: Uint8Array.from([...short.actionMask, 0, 0, 0, 0]),
    }
    const [inside] = withValues(randomCoefficients([short], 2, true), [short], 3)
    const values = inside!.values!.map((value, at) => (short.actionMask[at] === 1 ? value : 1e3))
    const padded = {
      logprobs: Float64Array.from([...inside!.logprobs, 5, 5, 5, 5]),
      entropies: null,
      values: Float64Array.from([...values, 5, 5, 5, 5]),
    }
    const plain = await learn(policy, [short], [{ ...inside!, entropies: null }])
    const extended = await learn(policy, [longer], [padded])
    expect(extended.critic).toEqual(plain.critic)
    expect(isZero(plain.critic)).toBe(false)
    expect([...extended.heads[0]!.values!]).toEqual([...plain.heads[0]!.values!, 0, 0, 0, 0])
  })
})

describe('nothing is computed needlessly', () => {
  const zeros = ragged.map(({ actionMask }) => new Float64Array(actionMask.length))
  const silent = zeros.map((logprobs) => ({ logprobs, entropies: null, values: logprobs }))
  const actorOnly = both.map((row) => ({ ...row, values: null }))
  const criticOnly = both.map((row, index) => ({ ...row, logprobs: zeros[index]!, entropies: null }))
  test.each([
    ['both learn', both, undefined, 4],
    ['no value coefficients', actorOnly, undefined, 3],
    ['values that nobody asks for', actorOnly, false, 2],
    ['value coefficients alone', criticOnly, undefined, 3],
    ['coefficients that are all 0', silent, undefined, 2],
  ] as const)('with %s: passes through the layers', async (_, coefficients, values, passes) => {
    const { signal } = new AbortController()
    const layers = vi.spyOn(signal, 'throwIfAborted') // asked once for each layer
    const how = { ...options, signal, ...(values === undefined ? {} : { values }) }
    const { heads, actor, critic: gradient } = await learn(policy, ragged, coefficients, how)
    expect(layers).toHaveBeenCalledTimes(passes * source.config.layers)
    expect(heads.every((head) => (head.values === null) === (values === false))).toBe(true)
    expect(isZero(actor)).toBe(coefficients === criticOnly || coefficients === silent)
    expect(isZero(gradient)).toBe(coefficients === actorOnly || coefficients === silent)
  })

  test('a value term without a critic is an error and leaves no gradient', async () => {
    using plain = await openTiny(source)
    await expect(plain.accumulate(ragged, options, () => both)).rejects.toThrow('no critic was run')
    expect(isZero(await flatGradient(plain))).toBe(true)
  })
})

/** What happens to a critic's parameters: how they begin, are updated, stored and taken back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { valueHeadNames } from '#engine/models/learningGraphs.ts'
import type { LossCoefficients } from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import {
  flat,
  flatGradient,
  openCritic,
  openFresh,
  openTiny,
  randomAdapter,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
let source: ModelSource
let policy: OrtPolicy
let width: number
beforeAll(async () => {
  source = await tinySource(folder)
  width = source.config.hiddenSize
  policy = await openCritic(source)
})
afterAll(() => policy[Symbol.dispose]())

const sequences = [randomSequence(288, 9, 1, 1), randomSequence(288, 14, 2, 1)]
const coefficients = withValues(randomCoefficients(sequences, 4, false), sequences, 5)
const accumulate = (of: OrtPolicy, given: readonly LossCoefficients[] = coefficients) =>
  of.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => given)
const settings = { learningRates: { actor: 0.02, critic: 0.05 }, maxGradNorm: 0.7 }

const actorOf = async (of: OrtPolicy): Promise<Float32Array> => flat(await of.adapterTensors('actor'))
const criticOf = async (of: OrtPolicy): Promise<number[]> => {
  const { weight, bias } = of.valueHead()
  return [...flat(await of.adapterTensors('critic')), ...weight, bias]
}
const normOf = (array: Float32Array): number => Math.sqrt(array.reduce((sum, x) => sum + x * x, 0))
const largest = (array: ArrayLike<number>): number => largestDifference(array, new Float64Array(array.length))

describe('a fresh critic', () => {
  test('has an adapter of its own that adds nothing yet', async () => {
    using fresh = await openFresh(source, { critic: true, loraSeed: 3 })
    const [actor, critic] = [await fresh.adapterTensors('actor'), await fresh.adapterTensors('critic')]
    critic.forEach(({ name, shape, data }, index) => {
      expect({ name, shape }).toEqual({ name: actor[index]!.name, shape: actor[index]!.shape })
      const bound = name.endsWith('A') ? 1 / Math.sqrt(shape[1]!) : 0
      expect(largest(data)).toBeLessThanOrEqual(Math.fround(bound))
      expect(largest(data)).toBeGreaterThanOrEqual(0.9 * bound)
      if (bound > 0) expect(data).not.toEqual(actor[index]!.data)
    })
  })

  test('has a value head uniform in ±1/√D, by a seed of its own', async () => {
    const head = async (seeds: Partial<OrtPolicyOptions>) => {
      using fresh = await openFresh(source, { critic: true, ...seeds })
      return fresh.valueHead()
    }
    const first = await head({ loraSeed: 3 })
    const bound = 1 / Math.sqrt(width)
    expect(first.weight).toHaveLength(width)
    expect(largest([...first.weight, first.bias])).toBeLessThanOrEqual(Math.fround(bound))
    expect(largest(first.weight)).toBeGreaterThan(0.8 * bound)
    expect(Math.min(...first.weight)).toBeLessThan(-0.8 * bound)
    expect(await head({ loraSeed: 9, criticSeed: 3 })).toEqual(first)
    expect(await head({ loraSeed: 3, criticSeed: 4 })).not.toEqual(first)
  })

  test('leaves the actor as it is without one', async () => {
    using fresh = await openFresh(source, { critic: true, loraSeed: 3 })
    using plain = await openFresh(source, { loraSeed: 3 })
    expect(await actorOf(fresh)).toEqual(await actorOf(plain))
  })
})

describe('an update', () => {
  test('clips each group by its own norm and reports both', async () => {
    using learning = await openCritic(source)
    const large = coefficients.map((row) => ({ ...row, values: row.values!.map((value) => 1e3 * value) }))
    await accumulate(learning, large)
    const norms = {
      actor: normOf(await flatGradient(learning)),
      critic: normOf(await flatGradient(learning, 'critic')),
    }
    const { gradNorms } = await learning.update(settings)
    expect(gradNorms.actor).toBeCloseTo(norms.actor, 4)
    expect(gradNorms.critic! / norms.critic).toBeCloseTo(1, 6)
    expect(norms.critic).toBeGreaterThan(100 * norms.actor)

    using plain = await openTiny(source)
    await accumulate(
      plain,
      coefficients.map((row) => ({ ...row, values: null })),
    )
    expect((await plain.update(settings)).gradNorms).toEqual({ actor: gradNorms.actor })
    expect(await actorOf(learning)).toEqual(await actorOf(plain))
  })

  test.each(['actor', 'critic'] as const)('whose rate is 0 for the %s leaves it alone', async (still) => {
    using learning = await openCritic(source)
    const before = { actor: await actorOf(learning), critic: await criticOf(learning) }
    await accumulate(learning)
    await learning.update({ ...settings, learningRates: { ...settings.learningRates, [still]: 0 } })
    const after = { actor: await actorOf(learning), critic: await criticOf(learning) }
    const moved = still === 'actor' ? 'critic' : 'actor'
    expect(after[still]).toEqual(before[still])
    expect(after[moved]).not.toEqual(before[moved])
    expect((await flatGradient(learning, 'critic')).every((gradient) => gradient === 0)).toBe(true)
  })

  test('against the error of the values brings them nearer to their targets', async () => {
    using learning = await openCritic(source)
    const errors: number[] = []
    for (let step = 0; step < 30; step++) {
      await learning.accumulate(sequences, { temperature: 1, entropyGradient: false }, (heads) => {
        const gaps = heads.map(({ values }, row) => values!.map((value, at) => value - Math.sin(row + at)))
        errors.push(gaps.reduce((sum, row) => sum + row.reduce((part, gap) => part + gap * gap, 0), 0))
        return gaps.map((values) => ({ logprobs: values.map(() => 0), entropies: null, values }))
      })
      await learning.update({ learningRates: { actor: 0, critic: 0.01 }, maxGradNorm: Infinity })
    }
    expect(errors.at(-1)).toBeLessThan(0.1 * errors[0]!)
  })
})

describe('what is stored', () => {
  test('optimizer buffers hold the actor, the critic, the head’s weight and its bias, in this order', async () => {
    using learning = await openCritic(source)
    await accumulate(learning)
    const critic = await learning.gradientTensors('critic')
    expect(critic.slice(-2).map(({ name, shape }) => ({ name, shape }))).toEqual([
      { name: valueHeadNames.weight, shape: [1, width] },
      { name: valueHeadNames.bias, shape: [1] },
    ])
    const gradients = flat([...(await learning.gradientTensors('actor')), ...critic])
    await learning.update({ ...settings, maxGradNorm: Infinity })
    const { step, buffers } = await learning.optimizerState()
    expect(step).toBe(1)
    expect(
      largestDifference(
        buffers['firstMoments']!.map((moment) => 10 * moment),
        gradients,
      ),
    ).toBeLessThan(1e-6 * largest(gradients))
  })

  test('continued from it, a run ends with the same bytes', async () => {
    using first = await openCritic(source)
    await accumulate(first)
    await first.update(settings)
    await first.refreshReference(0.5)
    using second = await openFresh(source, { critic: true, loraSeed: 77 })
    for (const role of ['actor', 'reference', 'critic'] as const) {
      second.restoreAdapter(role, await first.adapterTensors(role))
    }
    second.restoreValueHead(first.valueHead())
    second.restoreOptimizer(await first.optimizerState())
    const heads = []
    for (const each of [first, second]) {
      await accumulate(each)
      await each.update(settings)
      heads.push(await each.score(sequences, { role: 'critic', temperature: 1 }))
    }
    expect(await actorOf(second)).toEqual(await actorOf(first))
    expect(await criticOf(second)).toEqual(await criticOf(first))
    expect(await second.optimizerState()).toEqual(await first.optimizerState())
    expect(heads[1]).toEqual(heads[0])
  })

  test('is a copy: what is taken out does not change afterwards', async () => {
    using learning = await openCritic(source)
    const [head, adapter] = [learning.valueHead(), await learning.adapterTensors('critic')]
    const kept = [...flat(adapter), ...head.weight]
    await accumulate(learning)
    await learning.update(settings)
    expect([...flat(adapter), ...head.weight]).toEqual(kept)
    expect([...learning.valueHead().weight]).not.toEqual([...head.weight])
  })

  test('of a run without a critic does not fit one with it, nor the other way round', async () => {
    using plain = await openTiny(source)
    const [without, withCritic] = [await plain.optimizerState(), await policy.optimizerState()]
    expect(() => policy.restoreOptimizer(without)).toThrow(
      expect.objectContaining({
        code: 'checkpoint/invalid',
        message: 'The stored optimizer state has no critic, but this run trains one.',
      }),
    )
    expect(() => plain.restoreOptimizer(withCritic)).toThrow(
      expect.objectContaining({
        code: 'checkpoint/invalid',
        message: 'The stored optimizer state has a critic, but this run trains none.',
      }),
    )
    const buffers = { firstMoments: new Float32Array(3), secondMoments: new Float32Array(3) }
    expect(() => policy.restoreOptimizer({ step: 1, buffers })).toThrow('optimizer buffer firstMoments')
  })

  test('a value head of another width is refused', () => {
    expect(() => policy.restoreValueHead({ weight: new Float32Array(5), bias: 0 })).toThrow(
      `The value head has 5 weights, expected ${width}.`,
    )
  })
})

describe('without a critic', () => {
  test('nothing of one is kept, and asking for it is an error', async () => {
    using plain = await openTiny(source)
    const { buffers } = await plain.optimizerState()
    expect(buffers['firstMoments']).toHaveLength((await actorOf(plain)).length)
    for (const ask of [
      () => plain.valueHead(),
      () => plain.restoreValueHead({ weight: new Float32Array(width), bias: 0 }),
    ]) {
      expect(ask).toThrow('without a critic')
    }
    await expect(plain.adapterTensors('critic')).rejects.toThrow('without a critic')
    await expect(plain.gradientTensors('critic')).rejects.toThrow('without a critic')
  })
})

describe('the reference', () => {
  const score = async (of: OrtPolicy, role: 'reference' | 'actor' | 'base') =>
    (await of.score(sequences, { role, temperature: 1 })).map(({ logprobs }) => logprobs)

  test('begins as the actor', async () => {
    expect(await score(policy, 'reference')).toEqual(await score(policy, 'actor'))
  })

  test('begins with given tensors', async () => {
    const reference = randomAdapter(source.config, tinyLora, 42)
    using given = await openTiny(source, { reference })
    expect(flat(await given.adapterTensors('reference'))).toEqual(flat(reference))
    using asActor = await openTiny(source, { adapter: reference })
    expect(await score(given, 'reference')).toEqual(await score(asActor, 'actor'))
  })

  test('begins as the base, until the actor is mixed in', async () => {
    using given = await openTiny(source, { reference: 'base' })
    expect(await score(given, 'reference')).toEqual(await score(given, 'base'))
    expect(await score(given, 'reference')).not.toEqual(await score(given, 'actor'))
    await given.refreshReference(1)
    expect(await score(given, 'reference')).toEqual(await score(given, 'actor'))
  })
})

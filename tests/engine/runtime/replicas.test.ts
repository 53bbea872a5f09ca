/** Learning from several micro-batches at once is the same as learning from one after the other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LoraConfig } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { AccumulateOptions, Heads, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { sharedOut } from '#engine/runtime/learningQueue.ts'
import { replicasOf } from '#engine/runtime/packedBatch.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import {
  flatGradient,
  openCritic,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
const twoThreads = { kind: 'cpu', threads: 2, deviceId: 0 } as const
const dropping: LoraConfig = { ...tinyLora, dropout: 0.2 }
const options: AccumulateOptions = { temperature: 0.9, entropyGradient: true }
// Two are alike, so that dropout has to tell them apart across the threads; one has nothing to learn from.
const rows = [12, 5, 12, 31, 2, 17].map((length) => randomSequence(288, length, length, 0.8))
const coefficients = withValues(randomCoefficients(rows, 1, true), rows, 2)
const batches = [[0, 1], [2], [3], [4, 5]]

let source: ModelSource
let alone: OrtPolicy
let shared: OrtPolicy
beforeAll(async () => {
  source = await tinySource(folder)
  alone = await openCritic(source, { lora: dropping })
  shared = await openCritic(source, { lora: dropping, device: twoThreads })
})
afterAll(() => {
  alone[Symbol.dispose]()
  shared[Symbol.dispose]()
})

type Loss = (heads: readonly Heads[], batch: readonly number[]) => readonly LossCoefficients[]
const known: Loss = (_, batch) => batch.map((row) => coefficients[row]!)

function learn(policy: OrtPolicy, batch: readonly number[], loss: Loss = known, more = {}): Promise<Heads[]> {
  const sequences = batch.map((row) => rows[row]!)
  return policy.accumulate(sequences, { ...options, ...more }, (heads) => loss(heads, batch))
}

/** Gradients of actor and critic, then of nothing. */
async function takeGradients(policy: OrtPolicy): Promise<Float32Array> {
  const critic = (await policy.gradientTensors('critic')).flatMap(({ data }) => [...data])
  const all = Float32Array.from([...(await flatGradient(policy)), ...critic])
  policy.discardGradients()
  return all
}

const numbers = (heads: readonly Heads[]) =>
  heads.flatMap(({ logprobs, entropies, values }) => [...logprobs, ...entropies, ...(values ?? [])])

const learnAll = (policy: OrtPolicy) => Promise.all(batches.map((batch) => learn(policy, batch)))

async function learnTogether(policy: OrtPolicy) {
  const heads = await learnAll(policy)
  return { heads: numbers(heads.flat()), gradients: await takeGradients(policy) }
}

async function learnInTurn(policy: OrtPolicy) {
  const heads: Heads[] = []
  for (const batch of batches) heads.push(...(await learn(policy, batch)))
  return { heads: numbers(heads), gradients: await takeGradients(policy) }
}

describe('two replicas', () => {
  test('give the heads and gradients of one thread, dropout, entropies and critic included', async () => {
    expect([alone.replicas, shared.replicas]).toEqual([1, 2])
    const expected = await learnInTurn(alone)
    const got = await learnTogether(shared)
    expect(largestDifference(got.heads, expected.heads)).toBeLessThan(1e-5)
    expect(relativeError(got.gradients, expected.gradients)).toBeLessThan(1e-5)
    const inTurn = await learnInTurn(shared) // all threads for each
    expect(relativeError(inTurn.gradients, expected.gradients)).toBeLessThan(1e-5)
  })

  test('give the same bytes every time', async () => {
    const first = await learnTogether(shared)
    for (let round = 0; round < 3; round++) expect(await learnTogether(shared)).toEqual(first)
  })

  test('see an update of actor and critic', async () => {
    const rates = { learningRates: { actor: 0.05, critic: 0.05 }, maxGradNorm: Infinity }
    using one = await openCritic(source)
    using two = await openCritic(source, { device: twoThreads })
    for (const policy of [one, two]) {
      await learnAll(policy)
      await policy.update(rates)
    }
    const before = await learnTogether(alone)
    const [expected, got] = [await learnTogether(one), await learnTogether(two)]
    expect(largestDifference(got.heads, expected.heads)).toBeLessThan(1e-4)
    expect(largestDifference(got.heads, before.heads)).toBeGreaterThan(1e-2)
  })

  test('score as one thread does, for every role', async () => {
    const many = Array.from({ length: 40 }, (_, seed) => randomSequence(288, 60, seed))
    for (const role of ['actor', 'reference', 'base', 'critic'] as const) {
      const scoreAll = async (policy: OrtPolicy) =>
        numbers(await policy.score(many, { role, temperature: 1.1 }))
      expect(largestDifference(await scoreAll(shared), await scoreAll(alone))).toBeLessThan(1e-5)
    }
  })
})

describe('what goes wrong in one', () => {
  const outcomes = async (work: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(work)).map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as Error) : null,
    )

  test('a loss that fails is told in its own words; the others end, and learning goes on', async () => {
    const broken = new Error('broken loss')
    const loss: Loss = (heads, batch) => {
      if (batch.includes(3)) throw broken
      return known(heads, batch)
    }
    const errors = await outcomes(batches.map((batch) => learn(shared, batch, loss)))
    expect(errors).toEqual([null, null, broken, null])
    shared.discardGradients()
    const expected = await learnInTurn(alone)
    expect(relativeError((await learnTogether(shared)).gradients, expected.gradients)).toBeLessThan(1e-5)
  })

  test('an id that the model does not have keeps its code on the way', async () => {
    const strange: TokenSequence = { ids: Int32Array.of(1, 9999, 3), actionMask: Uint8Array.of(0, 1) }
    const work = [learn(shared, [3]), shared.accumulate([strange, rows[3]!], options, () => [])]
    const errors = await outcomes(work)
    expect(errors[0]).toBeNull()
    expect(errors[1]).toMatchObject({ name: 'AppError', code: 'runtime/failed' })
    shared.discardGradients()
  })

  test('a signal stops all of them, in its own words', async () => {
    const stop = new AbortController()
    const loss: Loss = (heads, batch) => {
      stop.abort(new Error('enough'))
      return known(heads, batch)
    }
    const work = batches.map((batch) => learn(shared, batch, loss, { signal: stop.signal }))
    const errors = await outcomes(work)
    expect(errors.map((error) => error?.message)).toEqual(['enough', 'enough', 'enough', 'enough'])
    shared.discardGradients()
    expect((await takeGradients(shared)).every((value) => value === 0)).toBe(true)
    expect((await learnTogether(shared)).heads.every(Number.isFinite)).toBe(true)
  })
})

describe('sharing out', () => {
  test.each([
    { costs: [4, 3, 3], workers: 2, plan: [[0], [1, 2]] },
    {
      costs: [5, 4, 3, 2],
      workers: 2,
      plan: [
        [0, 3],
        [1, 2],
      ],
    },
    { costs: [1, 9, 8], workers: 2, plan: [[1], [2, 0]] },
    { costs: [7], workers: 2, plan: null },
    { costs: [3, 3, 3, 3], workers: 4, plan: [[0], [1], [2], [3]] },
    { costs: [10, 1, 1], workers: 2, plan: null },
    { costs: [6, 6, 6, 6, 6], workers: 4, plan: null },
  ])('$costs among $workers', ({ costs, workers, plan }) => {
    expect(sharedOut(costs, workers)).toEqual(plan)
  })

  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [6, 3],
    [7, 1],
    [8, 4],
    [10, 2],
  ])('%i threads work in %i replicas', (threads, replicas) => {
    expect(replicasOf({ kind: 'cpu', threads })).toBe(replicas)
    expect(replicasOf({ kind: 'cuda', threads })).toBe(1)
  })
})

/** Log-probabilities of further tokens of each prediction, and their gradient, in every form in which a policy computes. */
import { beforeAll, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import type { Alternatives, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import { policyGradientError, policyGradientLimit } from './policyGradient.ts'
import { flatGradient, openTiny, randomCoefficients, randomSequence, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()
const each = 3
const temperature = 0.9
let source: ModelSource
let capped: ModelSource
beforeAll(async () => {
  source = await asFloat32Source(await tinySource(folder, { layers: 3 }), folder)
  capped = await tinySource(folder, modelShapes['tiny-gemma2'])
})

/** Sequences that begin alike, each prediction with alternatives. */
function sequencesOf({ config: { vocabSize } }: ModelSource): TokenSequence[] {
  const random = new SequentialRandom(randomStream(4))
  const start = randomSequence(vocabSize, 6, 9).ids
  return [5, 12, 9].map((length, seed) => {
    const { ids, actionMask } = randomSequence(vocabSize, length + start.length, seed)
    ids.set(start)
    const alternatives = Int32Array.from({ length: actionMask.length * each }, () =>
      random.integer(vocabSize),
    )
    return { ids, actionMask, alternatives }
  })
}

function coefficientsOf(sequences: readonly TokenSequence[]): LossCoefficients[] {
  const random = new SequentialRandom(randomStream(5))
  return randomCoefficients(sequences, 3, true).map((row, i) => ({
    ...row,
    alternatives: Float64Array.from(sequences[i]!.alternatives!, (_, at) =>
      sequences[i]!.actionMask[Math.floor(at / each)] === 1 ? random.normal() : 0,
    ),
  }))
}

test('they are scores of sequences in which they stand', async () => {
  using policy = await openTiny(source)
  const sequences = sequencesOf(source)
  const heads = await policy.score(sequences, { role: 'actor', temperature })
  for (const [row, { ids, actionMask, alternatives }] of sequences.entries()) {
    const found = heads[row]!.alternatives!
    expect(found.ids.filter((_, at) => actionMask[Math.floor(at / each)] === 1)).toEqual(
      alternatives!.filter((_, at) => actionMask[Math.floor(at / each)] === 1),
    )
    for (const [t, isAction] of actionMask.entries()) {
      const replaced = Array.from({ length: each }, (_, k) => ({
        ids: Int32Array.of(...ids.subarray(0, t + 1), alternatives![t * each + k]!),
        actionMask: Uint8Array.from({ length: t + 1 }, (_, at) => Number(at === t)),
      }))
      const expected = isAction === 1 ? await policy.score(replaced, { role: 'actor', temperature }) : []
      for (const [k, { logprobs }] of expected.entries())
        expect(found.logprobs[t * each + k]).toBeCloseTo(logprobs[t]!, 4)
    }
  }
})

test.each([
  ['the whole vocabulary at once', {}],
  ['whole programs', { programs: { form: 'resident', segmentLayers: 2 } }],
] as const)('the likeliest are the largest of all: %s', async (_, options: Partial<OrtPolicyOptions>) => {
  using policy = await openTiny(source, { ...options, further: ['likeliest'] })
  const { vocabSize } = source.config
  const sequences = sequencesOf(source).map(({ ids, actionMask }) => ({ ids, actionMask }))
  const [all, few] = await Promise.all(
    [vocabSize + 1, 4].map((likeliest) => policy.score(sequences, { role: 'base', temperature, likeliest })),
  )
  for (const [row, { ids, actionMask }] of sequences.entries()) {
    const [{ alternatives: found, logprobs }, { alternatives: first }] = [all![row]!, few![row]!]
    for (const t of actionMask.keys()) {
      if (actionMask[t] === 0) continue
      const there = partOf(found!, t, vocabSize)
      expect(there.logprobs).toEqual(there.logprobs.toSorted((a, b) => b - a))
      expect(there.ids.toSorted()).toEqual(Int32Array.from({ length: vocabSize }, (_, id) => id))
      expect(there.logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 5)
      expect(there.logprobs[there.ids.indexOf(ids[t + 1]!)]).toBeCloseTo(logprobs[t]!, 5)
      expect(partOf(first!, t, 4).ids).toEqual(there.ids.subarray(0, 4))
    }
  }
})

const partOf = ({ ids, logprobs }: Alternatives, t: number, size: number): Alternatives => ({
  ids: ids.subarray(t * size, (t + 1) * size),
  logprobs: logprobs.subarray(t * size, (t + 1) * size),
})

test.each(['separate logits', 'soft caps'])('the gradient is that of differences: %s', async (name) => {
  const from = name === 'soft caps' ? capped : source
  using policy = await openTiny(from)
  const sequences = sequencesOf(from)
  const coefficients = coefficientsOf(sequences)
  expect(await policyGradientError(policy, { sequences, coefficients, temperature, seed: 2 })).toBeLessThan(
    policyGradientLimit,
  )
})

test('whole programs and saved activations give the same gradient', async () => {
  const sequences = sequencesOf(source)
  const coefficients = coefficientsOf(sequences)
  const learned = async (options: Partial<OrtPolicyOptions>) => {
    using policy = await openTiny(source, { ...options, further: ['alternatives'] })
    const heads = await policy.accumulate(
      sequences,
      { temperature, entropyGradient: true },
      () => coefficients,
    )
    return {
      gradient: await flatGradient(policy),
      logprobs: heads.map((head) => head.alternatives!.logprobs),
    }
  }
  const expected = await learned({})
  for (const options of [
    { activations: 'save' },
    { programs: { form: 'resident', segmentLayers: 3 } },
    { programs: { form: 'resident', segmentLayers: 1 } },
    { device: { kind: 'cpu', threads: 2, deviceId: 0 } },
  ] as const) {
    const { gradient, logprobs } = await learned(options)
    expect(relativeError(gradient, expected.gradient)).toBeLessThan(5e-6)
    logprobs.forEach((row, i) => expect(largestDifference(row, expected.logprobs[i]!)).toBeLessThan(1e-5))
  }
})

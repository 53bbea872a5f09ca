/** Our numbers against those of Hugging Face transformers and peft on the same weights. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'
import type { Completion } from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, tensorErrors } from './differences.ts'
import type { Reference } from './referenceFixture.ts'
import {
  coefficientsOf,
  explainedNames,
  modelTypeOf,
  openReference,
  readGradients,
  readReference,
  referenceNames,
  wholeSequence,
} from './referenceFixture.ts'

const roleOf = (adapter: boolean) => (adapter ? 'actor' : 'base')

test('the README says of every reference folder what it proves', () => {
  expect(explainedNames()).toEqual(referenceNames)
})

test('every architecture has a reference folder', () => {
  const types = new Set(referenceNames.map(modelTypeOf))
  expect(architectures.flatMap(({ modelType }) => (types.has(modelType) ? [] : [modelType]))).toEqual([])
})

/** Layer by layer as on the CPU, and in the whole programs of devices. */
const ways: readonly [string, Pick<OrtPolicyOptions, 'programs'>][] = [
  ['layer by layer', {}],
  ['in whole programs', { programs: { form: 'shared' } }],
  ['in one session', { programs: { form: 'resident' } }],
]
const cases = referenceNames.flatMap((name) => ways.map(([way, options]) => ({ name, way, options })))

describe.each(cases)('$name, $way', ({ name, options }) => {
  const cache = temporaryFolder()
  let reference: Reference
  let policy: OrtPolicy
  beforeAll(async () => {
    reference = readReference(name)
    policy = await openReference(reference, cache, options)
  })
  afterAll(() => policy[Symbol.dispose]())

  test('log-probabilities and entropies agree to 1e-4', async () => {
    const sequences = reference.sequences.map(wholeSequence)
    expect(reference.scores.map(({ adapter, temperature }) => [adapter, temperature])).toEqual([
      [false, 1],
      [false, 0.7],
      [true, 1],
      [true, 0.7],
    ])
    for (const { adapter, temperature, logprobs, entropies } of reference.scores) {
      const heads = await policy.score(sequences, { role: roleOf(adapter), temperature })
      for (const [row, { logprobs: ours, entropies: ourEntropies }] of heads.entries()) {
        expect(largestDifference(ours, logprobs[row]!)).toBeLessThan(1e-4)
        expect(largestDifference(ourEntropies, entropies[row]!)).toBeLessThan(1e-4)
      }
    }
  })

  test.each(['recompute', 'save'] as const)('adapter gradients agree to 1e-3 (%s)', async (activations) => {
    // The policy of the other tests recomputes.
    using saving =
      activations === 'save' ? await openReference(reference, cache, { ...options, activations }) : null
    const learner = saving ?? policy
    const sequences = reference.sequences.map(wholeSequence)
    expect(reference.gradients.map(({ entropyCoefficients }) => entropyCoefficients !== null)).toEqual([
      false,
      true,
    ])
    for (const gradients of reference.gradients) {
      const coefficients = coefficientsOf(gradients)
      const options = {
        temperature: gradients.temperature,
        entropyGradient: gradients.entropyCoefficients !== null,
      }
      const heads = await learner.accumulate(sequences, options, () => coefficients)
      let loss = 0
      for (const [row, { logprobs, entropies }] of coefficients.entries()) {
        logprobs.forEach((coefficient, at) => (loss += coefficient * heads[row]!.logprobs[at]!))
        entropies?.forEach((coefficient, at) => (loss += coefficient * heads[row]!.entropies[at]!))
      }
      expect(Math.abs(loss - gradients.loss)).toBeLessThan(1e-3)
      const expected = readGradients(reference, gradients)
      const actual = learner.gradientTensors()
      learner.discardGradients()
      expect(actual.map((tensor) => tensor.name).toSorted()).toEqual(
        expected.map((tensor) => tensor.name).toSorted(),
      )
      const errors = Object.entries(tensorErrors(actual, expected))
      expect(errors.filter(([, error]) => !(error < 1e-3))).toEqual([])
    }
  })

  test('greedy continuation of ragged prompts gives the same tokens, with the log-probabilities of scoring', async () => {
    for (const { adapter, prompts, ids, logprobs } of reference.greedy) {
      const role = roleOf(adapter)
      const requests = prompts.map((prompt) => ({
        promptIds: Int32Array.from(prompt),
        streams: [{ uniformAt: () => 0 }],
      }))
      const found: Completion[] = []
      const sampling = greedySampling(ids[0]!.length)
      for await (const completion of policy.generate(requests, { role, sampling })) found.push(completion)
      found.sort((a, b) => a.request - b.request)
      expect(found.map((completion) => [...completion.ids])).toEqual(ids)
      for (const [row, completion] of found.entries()) {
        expect(largestDifference(completion.logprobs, logprobs[row]!)).toBeLessThan(1e-4)
      }
      const whole = prompts.map((prompt, row) => wholeSequence([...prompt, ...ids[row]!]))
      const heads = await policy.score(whole, { role, temperature: 1 })
      for (const [row, completion] of found.entries()) {
        const scored = heads[row]!.logprobs.subarray(prompts[row]!.length - 1)
        expect(largestDifference(completion.logprobs, scored)).toBeLessThan(1e-4)
      }
    }
  })
})

const greedySampling = (maxNewTokens: number) => ({
  greedy: true,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens,
  stopIds: [],
  stopStrings: [],
})

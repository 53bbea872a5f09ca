/**
 * Our numbers against those of Hugging Face transformers and peft on the same weights, and of sequences that begin alike
 * against those of each alone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'
import type { Completion } from '#engine/policy.ts'
import { prefixTree } from '#engine/prefixes.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError, tensorErrors } from './differences.ts'
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
import { learnAlone, learnTogether, sequencesAlike, type Learned } from './sharedPrefixes.ts'

const roleOf = (adapter: boolean) => (adapter ? 'actor' : 'base')

test('the README says of every reference folder what it proves', () => {
  expect(explainedNames()).toEqual(referenceNames)
})

test('every architecture has a reference folder', () => {
  const types = new Set(referenceNames.map(modelTypeOf))
  expect(architectures.flatMap(({ modelType }) => (types.has(modelType) ? [] : [modelType]))).toEqual([])
})

test('the sequences that begin alike have fewer distinct tokens than their lengths add up to', () => {
  expect(prefixTree(sequencesAlike, false).tokens).toBe(103)
  expect(prefixTree(sequencesAlike, true).tokens).toBe(34)
})

/** Layer by layer as on the CPU, and in the whole programs of devices, with one layer each and with all of them; the last two are for families. */
const ways: readonly [string, Partial<OrtPolicyOptions> & { readonly onlyLearns?: boolean }][] = [
  ['layer by layer', {}],
  ['from saved activations', { activations: 'save', onlyLearns: true }],
  ['with attention in blocks', { blocks: { longerThan: 4, rows: 5 }, onlyLearns: true }],
  ['in whole programs', { programs: { form: 'shared', segmentLayers: 1 } }],
  ['in one session', { programs: { form: 'resident' } }],
  ['in one session, a layer a program', { programs: { form: 'resident', segmentLayers: 1 } }],
]

/** Parts of families that the whole programs of devices do not compute, by family or by folder. */
const partsOnCpu: Readonly<Record<string, string>> = {
  qwen3_5_text: 'linear attention',
  qwen3_5_moe_text: 'a mixture of experts',
  'granite4-hybrid': 'linear attention',
  'granite4-moe': 'a mixture of experts',
  gemma4: 'embeddings for each layer',
  'gemma4-dense': 'attention heads that differ between layers',
  qwen3_moe: 'a mixture of experts',
  olmoe: 'a mixture of experts',
  granitemoe: 'a mixture of experts',
  gpt_oss: 'a mixture of experts',
}
const staysOnCpu = (name: string): string | null => partsOnCpu[name] ?? partsOnCpu[modelTypeOf(name)] ?? null

const isFirst = (name: string) =>
  referenceNames.find((other) => modelTypeOf(other) === modelTypeOf(name)) === name

/** In every run the first folder of each architecture, and a variant of one. */
const isAlways = (name: string) => isFirst(name) || name === 'llama-yarn'

/**
 * In a short run layer by layer for every folder, and one other way: the last for the first folder of an architecture, and one of the
 * others in turn for its variants.
 */
function waysOf(name: string): typeof ways {
  const inTurn = 1 + (referenceNames.indexOf(name) % (ways.length - 2))
  const other = isFirst(name) && staysOnCpu(name) === null ? ways.length - 1 : inTurn
  return isLong ? ways : ways.filter((_, i) => i === 0 || i === other)
}

eachOf(describe, { rows: referenceNames, isAlways }, '%s', (name) => {
  const cache = temporaryFolder()
  let reference: Reference
  let layerByLayer: OrtPolicy
  let alone: Learned
  beforeAll(async () => {
    reference = readReference(name)
    layerByLayer = await openReference(reference, cache)
    alone = await learnAlone(layerByLayer)
  })
  afterAll(() => layerByLayer[Symbol.dispose]())

  const isOnDevices = (options: Partial<OrtPolicyOptions>) => options.programs !== undefined
  const waysHere = waysOf(name).filter(([, options]) => !(isOnDevices(options) && staysOnCpu(name) !== null))
  const problem = staysOnCpu(name)
  if (problem !== null) {
    test('whole programs are refused in a sentence', async () => {
      await expect(openReference(reference, cache, { programs: { form: 'resident' } })).rejects.toThrow(
        `Models with ${problem} are not computed on CPU yet.`,
      )
    })
  }

  const isWayAlways = ([way]: (typeof ways)[number]) =>
    way === 'layer by layer' || modelTypeOf(name) === 'llama'
  eachOf(
    describe,
    { rows: waysHere, isAlways: isWayAlways },
    '%s',
    (way, { onlyLearns = false, ...options }) => {
      let policy: OrtPolicy
      beforeAll(async () => {
        policy = way === 'layer by layer' ? layerByLayer : await openReference(reference, cache, options)
      })
      afterAll(() => {
        if (policy !== layerByLayer) policy[Symbol.dispose]()
      })

      test('adapter gradients agree to 1e-3', async () => {
        const sequences = reference.sequences.map(wholeSequence)
        expect(reference.gradients.map(({ entropyCoefficients }) => entropyCoefficients !== null)).toEqual([
          false,
          true,
        ])
        for (const gradients of reference.gradients) {
          const coefficients = coefficientsOf(gradients)
          const learning = {
            temperature: gradients.temperature,
            entropyGradient: gradients.entropyCoefficients !== null,
          }
          const heads = await policy.accumulate(sequences, learning, () => coefficients)
          let loss = 0
          for (const [row, { logprobs, entropies }] of coefficients.entries()) {
            logprobs.forEach((coefficient, at) => (loss += coefficient * heads[row]!.logprobs[at]!))
            entropies?.forEach((coefficient, at) => (loss += coefficient * heads[row]!.entropies[at]!))
          }
          expect(Math.abs(loss - gradients.loss)).toBeLessThan(1e-3)
          const expected = readGradients(reference, gradients)
          const actual = await policy.gradientTensors()
          policy.discardGradients()
          expect(actual.map((tensor) => tensor.name).toSorted()).toEqual(
            expected.map((tensor) => tensor.name).toSorted(),
          )
          const errors = Object.entries(tensorErrors(actual, expected))
          expect(errors.filter(([, error]) => !(error < 1e-3))).toEqual([])
        }
      })

      test('sequences that begin alike have the numbers of each alone, layer by layer', async () => {
        const together = await learnTogether(policy)
        expect(largestDifference(together.logprobs, alone.logprobs)).toBeLessThan(2e-5)
        expect(largestDifference(together.scores, alone.logprobs)).toBeLessThan(2e-5)
        expect(relativeError(together.gradient, alone.gradient)).toBeLessThan(1e-5)
      })

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

      if (onlyLearns) return // it generates as layer by layer does
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
    },
  )
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

/** A prefix that sequences have in common is computed once: the numbers are those of each sequence alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { prefixTree } from '#engine/prefixes.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import { openReference, readReference, referenceNames } from './referenceFixture.ts'
import { flatGradient, openCritic, randomCoefficients, tinySource, withValues } from './tinyModel.ts'

const sequence = (ids: readonly number[], actionMask: readonly number[]): TokenSequence => ({
  ids: Int32Array.from(ids),
  actionMask: Uint8Array.from(actionMask),
})

const prompt = [7, 19, 4, 33, 12, 5, 28, 9, 17, 3, 21]
const other = [7, 19, 40, 6, 11]
const behind = (start: readonly number[], completion: readonly number[]): TokenSequence =>
  sequence(
    [...start, ...completion],
    [...start, ...completion].slice(1).map((_, at) => (at >= start.length - 1 ? 1 : 0)),
  )

/**
 * A group of five behind one prompt, two of whose completions begin alike and one of which is there twice; a second group
 * with a prompt that begins like the first; and a turn whose history is the first completion.
 */
const sequences = [
  behind(prompt, [1, 2, 3, 4, 5, 6]),
  behind(prompt, [1, 2, 9]),
  behind(other, [8, 8, 8, 8]),
  behind(prompt, [30]),
  behind(prompt, [31, 14, 15, 9, 2, 6, 5, 3]),
  behind(prompt, [30]),
  behind([...prompt, 1, 2, 3, 4, 5, 6, 22, 23], [10, 11, 12]),
  behind(other, [2]),
]

interface Learned {
  readonly logprobs: readonly Float64Array[]
  readonly gradient: Float32Array
}

async function learn(
  policy: OrtPolicy,
  batches: readonly (readonly number[])[],
  coefficients: readonly LossCoefficients[],
): Promise<Learned> {
  const logprobs: Float64Array[] = []
  for (const rows of batches) {
    const heads = await policy.accumulate(
      rows.map((row) => sequences[row]!),
      { temperature: 0.8, entropyGradient: true },
      () => rows.map((row) => coefficients[row]!),
    )
    rows.forEach((row, index) => (logprobs[row] = heads[index]!.logprobs))
  }
  const gradient = flatGradient(policy)
  policy.discardGradients()
  return { logprobs, gradient }
}

const alone = sequences.map((_, row) => [row])
const together = [[...sequences.keys()]]

test('the sequences have fewer distinct tokens than their lengths add up to', () => {
  const total = prefixTree(sequences, false).tokens
  expect(total).toBe(103)
  expect(prefixTree(sequences, true).tokens).toBe(34)
})

const ways: readonly [string, Pick<OrtPolicyOptions, 'programs' | 'activations'>][] = [
  ['layer by layer', { activations: 'recompute' }],
  ['from saved activations', { activations: 'save' }],
  ['in whole programs', { activations: 'recompute', programs: { form: 'shared', segmentLayers: 1 } }],
  ['in one session', { activations: 'recompute', programs: { form: 'resident' } }],
]

describe.each(referenceNames)('%s', (name) => {
  const cache = temporaryFolder()
  test.each(ways)('%s', { timeout: 60_000 }, async (_way, options) => {
    using policy = await openReference(readReference(name), cache, options)
    const coefficients = randomCoefficients(sequences, 3, true)
    const [each, all] = [
      await learn(policy, alone, coefficients),
      await learn(policy, together, coefficients),
    ]
    const [role, temperature] = ['actor', 0.8] as const
    const scored = await policy.score(sequences, { role, temperature })
    each.logprobs.forEach((logprobs, row) => {
      expect(largestDifference(all.logprobs[row]!, logprobs)).toBeLessThan(2e-5)
      expect(largestDifference(scored[row]!.logprobs, logprobs)).toBeLessThan(2e-5)
    })
    expect(relativeError(all.gradient, each.gradient)).toBeLessThan(1e-5)
  })
})

describe('a critic', () => {
  const folder = temporaryFolder()
  let policy: OrtPolicy
  beforeAll(async () => {
    policy = await openCritic(await tinySource(folder))
  })
  afterAll(() => policy[Symbol.dispose]())

  test('has its values and gradients summed over all that begin alike', async () => {
    const coefficients = withValues(randomCoefficients(sequences, 4, false), sequences, 5)
    const gradients = []
    for (const batches of [alone, together]) {
      for (const rows of batches) {
        await policy.accumulate(
          rows.map((row) => sequences[row]!),
          { temperature: 1, entropyGradient: false },
          () => rows.map((row) => coefficients[row]!),
        )
      }
      gradients.push(flatGradient(policy, 'critic'))
      policy.discardGradients()
    }
    expect(relativeError(gradients[1]!, gradients[0]!)).toBeLessThan(1e-5)
  })
})

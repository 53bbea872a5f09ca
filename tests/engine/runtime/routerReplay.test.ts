/** Experts that the sampler chose, replayed in learning. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Completion, GenerationRequest, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import { policyGradientError, policyGradientLimit } from './policyGradient.ts'
import { readReference } from './referenceFixture.ts'
import { completionsOf, openTiny, randomCoefficients, unfiltered } from './tinyModel.ts'

const folder = temporaryFolder()
/** Experts of a token in each layer, and layers with experts. */
const chosen = {
  'qwen3-moe': [2, 3],
  olmoe: [2, 2],
  'granite-moe-several': [3, 2],
  'qwen35-moe': [2, 3],
  // What enters its experts is within their bounds, where differences are as smooth as the gradient.
  'gpt-oss-mxfp4': [2, 2],
} as const
const names = Object.keys(chosen) as (keyof typeof chosen)[]

/** `rounded`: rollouts in int8, while learning reads exact weights. */
async function open(
  name: string,
  { rounded = false, ...overrides }: Partial<OrtPolicyOptions> & { readonly rounded?: boolean } = {},
): Promise<OrtPolicy> {
  const model = openModelFolder(join(readReference(name).directory, 'model'))
  const rollout = rounded ? 'int8' : 'f32'
  const source = await asPolicySource(
    model,
    { base: 'f32', rollout, int8Form: 'rows' },
    join(folder, 'cache'),
  )
  return openTiny(source, { replaysRoutes: true, rolloutPrecision: rollout, maxRows: 6, ...overrides })
}

/** More rows than decode together, of prompts that are shared, copied and alone. */
function requests(vocabSize: number, samples: readonly number[]): GenerationRequest[] {
  const random = new SequentialRandom(randomStream(3))
  return samples.map((count, row) => ({
    promptIds: Int32Array.from({ length: 5 + 2 * row }, () => random.integer(vocabSize)),
    streams: Array.from({ length: count }, (_, sample) => randomStream(1, row, sample)),
  }))
}

const sequenceOf = (
  asked: readonly GenerationRequest[],
  { request, ids, routes }: Completion,
): TokenSequence => {
  const { promptIds } = asked[request]!
  const all = Int32Array.from([...promptIds, ...ids])
  const actionMask = new Uint8Array(all.length - 1).fill(1, promptIds.length - 1)
  return { ids: all, actionMask, ...(routes && { routes }) }
}

const bare = ({ ids, actionMask }: TokenSequence): TokenSequence => ({ ids, actionMask })

const scoresOf = async (policy: OrtPolicy, sequences: readonly TokenSequence[]) => {
  const heads = await policy.score(sequences, { role: 'actor', temperature: 1 })
  return heads.map(({ logprobs }) => logprobs)
}

test.each(names)('%s: every token has a record, over which scores are what they were', async (name) => {
  using policy = await open(name)
  const asked = requests(policy.vocabSize, [6, 1, 3, 5])
  for (const sampling of [
    { ...unfiltered, maxNewTokens: 14 },
    { ...unfiltered, greedy: true, maxNewTokens: 30 },
    { ...unfiltered, maxNewTokens: 1 },
  ]) {
    const completions = await completionsOf(policy, asked, { role: 'actor', sampling })
    const sequences = completions.map((completion) => sequenceOf(asked, completion))
    for (const { ids, routes } of sequences) {
      expect(routes!.width).toBe(chosen[name][0] * chosen[name][1])
      expect(routes!.experts).toHaveLength((ids.length - 1) * routes!.width)
      expect(new Set(routes!.experts).size).toBeGreaterThan(2)
    }
    const [replayed, own] = [await scoresOf(policy, sequences), await scoresOf(policy, sequences.map(bare))]
    replayed.forEach((logprobs, row) => {
      expect(largestDifference(logprobs, own[row]!)).toBeLessThan(1e-6)
      expect(
        largestDifference(logprobs.slice(-completions[row]!.ids.length), completions[row]!.logprobs),
      ).toBeLessThan(1e-4)
    })
  }
})

test.each(names)(
  '%s: where rounding flips choices, replay brings scores nearer to the sampler',
  async (name) => {
    using policy = await open(name, { rounded: true })
    const asked = requests(policy.vocabSize, [6, 6, 6, 6])
    const sampling = { ...unfiltered, maxNewTokens: 24 }
    const completions = await completionsOf(policy, asked, { role: 'actor', sampling })
    const sequences = completions.map((completion) => sequenceOf(asked, completion))
    const gapOf = (scores: readonly Float64Array[]) => {
      const gaps = completions.flatMap(({ ids, logprobs }, row) =>
        Array.from(scores[row]!.slice(-ids.length), (logprob, at) => Math.abs(logprob - logprobs[at]!)),
      )
      return gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
    }
    const replayed = gapOf(await scoresOf(policy, sequences))
    const own = gapOf(await scoresOf(policy, sequences.map(bare)))
    expect(replayed).toBeLessThan(own)
  },
)

/** Any experts of each token, but none of the `left` last ones. */
function withRandomRoutes(sequence: TokenSequence, name: keyof typeof chosen, seed: number, left = 0) {
  const random = new SequentialRandom(randomStream(seed, 0xe4))
  const [each, layers] = chosen[name]
  const width = each * layers
  const experts = Array.from({ length: (sequence.ids.length - 1 - left) * layers }, () => {
    const first = random.integer(4)
    return Array.from({ length: each }, (_, place) => (first + place) % 4)
  })
  return { ...bare(sequence), routes: { width, experts: Uint16Array.from(experts.flat()) } }
}

test.each(names)('%s: the gradient over given experts is that of its scores', async (name) => {
  for (const activations of ['recompute', 'save'] as const) {
    using policy = await open(name, { activations })
    const asked = requests(policy.vocabSize, [2, 1])
    const completions = await completionsOf(policy, asked, { role: 'actor', sampling: unfiltered })
    const made = completions.map((completion) => sequenceOf(asked, completion))
    const sequences = made.map((sequence, row) => withRandomRoutes(sequence, name, row))
    const coefficients = randomCoefficients(sequences, 4, true)
    const step = name === 'qwen35-moe' ? 1e-3 : 5e-3
    const check = { sequences, coefficients, temperature: 0.9, seed: 8, step }
    expect(await policyGradientError(policy, check)).toBeLessThan(policyGradientLimit)
    const [replayed, own] = [await scoresOf(policy, sequences), await scoresOf(policy, made.map(bare))]
    expect(largestDifference(replayed[0]!, own[0]!)).toBeGreaterThan(1e-2)
  }
})

test('sequences of the same tokens over other experts have no prefix in common', async () => {
  using policy = await open('olmoe')
  const asked = requests(policy.vocabSize, [1])
  const [completion] = await completionsOf(policy, asked, { role: 'actor', sampling: unfiltered })
  const made = sequenceOf(asked, completion!)
  const sequences = [
    made,
    withRandomRoutes(made, 'olmoe', 1, 2),
    bare(made),
    withRandomRoutes(made, 'olmoe', 2),
  ]
  const together = await scoresOf(policy, sequences)
  for (const [row, sequence] of sequences.entries()) {
    const [alone] = await scoresOf(policy, [sequence])
    expect(largestDifference(together[row]!, alone!)).toBeLessThan(1e-5)
  }
})

test('without replay nothing is recorded, and records are ignored', async () => {
  using policy = await open('olmoe', { replaysRoutes: false })
  const asked = requests(policy.vocabSize, [1])
  const [completion] = await completionsOf(policy, asked, { role: 'actor', sampling: unfiltered })
  expect(completion!.routes).toBeUndefined()
  const made = bare(sequenceOf(asked, completion!))
  const given = withRandomRoutes(made, 'olmoe', 1)
  expect(await scoresOf(policy, [given])).toEqual(await scoresOf(policy, [made]))
})

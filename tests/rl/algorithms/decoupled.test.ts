/** Log-probabilities of three policies: who wrote (sampler), where the step began (proximal), who learns. */
import { expect, test } from 'vitest'
import { correctionWeights, summarizeMismatch } from '#rl/training/samplingMismatch.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { bareExperience } from '../bareExperience.ts'

const random = new SequentialRandom(randomStream(5))
const rows = Array.from({ length: 4 }, (_, group) => {
  const floats = () => Float64Array.from({ length: 6 + group }, () => -2 * random.uniform())
  const near = (values: Float64Array) => values.map((value) => value + 0.6 * random.normal())
  const sampler = floats()
  const proximal = near(sampler)
  return { group, sampler, proximal, logprobs: near(proximal), advantage: random.normal() }
})

/** L = −1/N Σ w·min(uA, clip(u)A), u = π/π_proximal, w = π_proximal/π_sampler limited (AReaL's ppo_actor_loss_fn). */
function written(cap: number, mode: 'truncate' | 'mask'): number {
  const terms = rows.flatMap(({ sampler, proximal, logprobs, advantage }) =>
    [...logprobs].map((logprob, t) => {
      const u = Math.exp(logprob - proximal[t]!)
      const w = Math.exp(proximal[t]! - sampler[t]!)
      const weight = w <= cap ? w : mode === 'mask' ? 0 : cap
      return -weight * Math.min(u * advantage, Math.min(Math.max(u, 0.8), 1.2) * advantage)
    }),
  )
  return terms.reduce((sum, term) => sum + term, 0) / terms.length
}

test.each(['truncate', 'mask'] as const)('the decoupled objective, weights above the limit: %s', (mode) => {
  const limit = { cap: 1.3, mode }
  const lossRows = rows.map(({ group, sampler, proximal, logprobs, advantage }): LossRow => {
    const actionMask = new Uint8Array(logprobs.length).fill(1)
    const gap = { behaviorLogprobs: proximal, samplerLogprobs: sampler, actionMask }
    return {
      ...bareExperience,
      ...gap,
      group,
      turnIds: null,
      turnRewards: [0],
      referenceLogprobs: null,
      behaviorValues: null,
      advantages: new Float64Array(logprobs.length).fill(advantage),
      returns: null,
      logprobs,
      entropies: new Float64Array(logprobs.length),
      values: null,
      correction: correctionWeights(gap, limit),
    }
  })
  const algorithm = grpo.configure({ klCoefficient: 0, lossNorm: 'token-mean' })
  expect(algorithm.minibatchLoss(lossRows)(lossRows).loss).toBeCloseTo(written(1.3, mode), 12)
  const gaps = lossRows.map(({ behaviorLogprobs, actionMask }, i) => ({
    behaviorLogprobs,
    samplerLogprobs: rows[i]!.sampler,
    actionMask,
  }))
  const above = rows.flatMap(({ sampler, proximal }) =>
    [...proximal].filter((p, t) => p - sampler[t]! >= Math.log(1.3)),
  )
  const summary = summarizeMismatch(gaps, limit)!
  expect(summary.cappedShare).toBeCloseTo(
    above.length / rows.flatMap(({ logprobs }) => [...logprobs]).length,
    12,
  )
  expect(summary.ratioMin === 0).toBe(mode === 'mask')
})

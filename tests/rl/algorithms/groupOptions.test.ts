/** What users of the GRPO family look for beyond the paper. */
import { describe, expect, test } from 'vitest'
import { entropyThreshold } from '#rl/algorithms/terms/policyTerms.ts'
import { groupTeaches } from '#rl/algorithms/terms/groups.ts'
import { tallyMeans } from '#rl/algorithms/terms/tally.ts'
import { softOverlongPenalty } from '#rl/algorithms/terms/rewards.ts'
import { cispo } from '#rl/algorithms/cispo.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import { gspo } from '#rl/algorithms/gspo.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import type { Experience, LossRow } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const row = (turnRewards: number[], tokens: number, more: Partial<Experience> = {}): Experience => ({
  ...bareExperience,
  group: 0,
  actionMask: new Uint8Array(tokens).fill(1),
  turnIds: null,
  turnRewards,
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: null,
  ...more,
})

const advantagesOf = (settings: Record<string, unknown>, batch: readonly Experience[]) =>
  grpo.configure({ advantageNorm: 'mean-only', ...settings }).advantages(batch)

describe('overlong completions', () => {
  const shape = { overlongBuffer: 4, overlongPenalty: 2 }

  test('cost nothing up to the buffer, then more with every token', () => {
    expect([5, 6, 7, 8, 10, 11].map((tokens) => softOverlongPenalty(tokens, 10, shape))).toEqual([
      0, 0, 0.5, 1, 2, 2,
    ])
    expect(softOverlongPenalty(10, 10, { ...shape, overlongBuffer: 0 })).toBe(0)
  })

  test('lose reward before advantages are taken; without a known limit they do not', () => {
    const batch = [row([1], 2, { tokenLimit: 8 }), row([1], 8, { tokenLimit: 8 })]
    const first = (rows: readonly Experience[]) => advantagesOf(shape, rows).tokens.map((tokens) => tokens[0])
    expect(first(batch)).toEqual([1, -1])
    expect(first(batch.map((member) => ({ ...member, tokenLimit: null })))).toEqual([0, 0])
  })

  test('leave the update when masked, and stay in the baseline', () => {
    const batch = [row([1], 2), row([0], 2), row([5], 2, { truncated: true })]
    const { kept, tokens } = advantagesOf({ maskTruncated: true }, batch)
    expect(kept).toEqual([0, 1])
    expect(tokens.map((member) => member[0])).toEqual([-1, -2, 3])
    expect(advantagesOf({}, batch).kept).toEqual([0, 1, 2])
  })
})

describe('scale of advantages', () => {
  const batch = [row([0], 1), row([2], 1), row([10], 1, { group: 1 }), row([10], 1, { group: 1 })]

  test('by the spread of all rewards of the batch', () => {
    const spread = Math.sqrt((5.5 ** 2 + 3.5 ** 2 + 4.5 ** 2 * 2) / 3)
    const { tokens } = advantagesOf({ advantageNorm: 'mean-batch-std' }, batch)
    expect(tokens[1]![0]).toBeCloseTo(1 / spread, 6)
    expect(tokens[2]![0]).toBe(0)
  })

  test('of turns by that of all turns played', () => {
    const turn = (reward: number, group: number) =>
      row([0, reward], 2, { group, turnIds: Int32Array.of(0, 1) })
    const turns = [turn(1, 0), turn(3, 0), row([0, 99], 2, { group: 1, turnIds: Int32Array.of(0, 0) })]
    const { tokens } = advantagesOf(
      { advantageNorm: 'mean-batch-std', advantageGranularity: 'turn', turnAdvantageFallback: false },
      turns,
    )
    const rewards = [0, 0, 0, 1, 3]
    const spread = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - 0.8) ** 2, 0) / 4)
    expect(tokens[1]![1]).toBeCloseTo(1 / spread, 6)
  })
})

describe('dynamic sampling', () => {
  const group = (...rewards: number[][]) => rewards.map((turnRewards) => ({ turnRewards }))

  test('takes groups whose rewards differ', () => {
    expect(groupTeaches(group([1], [1], [0]), 'trajectory')).toBe(true)
    expect(groupTeaches(group([0.1 + 0.2], [0.3]), 'trajectory')).toBe(false)
    expect(groupTeaches([], 'trajectory')).toBe(false)
  })

  test('where turns are compared, a difference in one of them is enough', () => {
    const balanced = group([1, 0], [0, 1])
    expect(groupTeaches(balanced, 'trajectory')).toBe(false)
    expect(groupTeaches(balanced, 'turn')).toBe(true)
    expect(groupTeaches(group([1], [1, 0]), 'turn')).toBe(false) // only one played the second turn
  })

  test('is off unless asked for, and asks for turns where the ratio is of turns', () => {
    expect(grpo.configure({}).acceptance).toBeNull()
    const acceptance = (settings: Record<string, unknown>) =>
      grpo.configure({ dynamicSampling: true, refillRounds: 5, ...settings }).acceptance!
    expect(acceptance({}).rounds).toBe(5)
    expect(acceptance({}).accepts(group([1, 0], [0, 1]))).toBe(false)
    expect(acceptance({ importanceSamplingLevel: 'turn' }).accepts(group([1, 0], [0, 1]))).toBe(true)
  })
})

test('two-sided clip: a token with a negative advantage costs at most the limit', () => {
  const lossOf = (ratio: number, advantage: number, ratioLimit: number | null = 3) => {
    const rows = [ratioRow([ratio], advantage)]
    const algorithm = grpo.configure({ klCoefficient: 0, ratioLimit })
    const { loss, coefficients } = algorithm.minibatchLoss(rows)(rows)
    return { loss, slope: coefficients[0]!.logprobs[0]! }
  }
  expect(lossOf(10, -2)).toEqual({ loss: 6, slope: 0 })
  expect(lossOf(2, -2).loss).toBeCloseTo(4, 12)
  expect(lossOf(2, -2).slope).toBeCloseTo(2 * 2, 12) // ∂ρ/∂logprob = ρ
  expect(lossOf(10, 2)).toEqual(lossOf(10, 2, null))
  expect(lossOf(10, -2, null).loss).toBeCloseTo(20, 12)
})

describe('top-entropy tokens', () => {
  const entropies = (values: number[], actionMask: number[]): Experience =>
    row([0], values.length, {
      actionMask: Uint8Array.from(actionMask),
      behaviorEntropies: Float64Array.from(values),
    })
  const learning = (member: Experience) => ({
    ...member,
    advantages: new Float64Array(member.actionMask.length),
    returns: null,
  })

  test('the bar is over all action tokens of the minibatch', () => {
    const minibatch = [entropies([9, 1, 2], [0, 1, 1]), entropies([3, 4, 5], [1, 1, 1])].map(learning)
    expect(entropyThreshold(minibatch, 0.5)).toBe(3)
    expect(entropyThreshold(minibatch, 1)).toBe(-Infinity)
    expect(() => entropyThreshold([learning(row([0], 2))], 0.5)).toThrow('entropies')
  })

  test('asks for the entropies of the behaviour policy only when it uses them', () => {
    expect(grpo.configure({}).needs.behaviorEntropies).toBe(false)
    expect(grpo.configure({ topEntropyShare: 0.2 }).needs.behaviorEntropies).toBe(true)
  })
})

test('a constant length does not favour short completions', () => {
  const algorithm = grpo.configure({ klCoefficient: 0, lossNorm: 'constant-length' })
  const lossRow = (tokens: number): LossRow => ({
    ...row([0], tokens, { tokenLimit: 10 }),
    advantages: new Float64Array(tokens).fill(1),
    returns: null,
    behaviorLogprobs: new Float64Array(tokens),
    logprobs: new Float64Array(tokens),
    entropies: new Float64Array(tokens),
    values: null,
    correction: null,
  })
  const rows = [lossRow(2), lossRow(8)]
  const slopes = algorithm
    .minibatchLoss(rows)(rows)
    .coefficients.map(({ logprobs }) => logprobs[0])
  expect(slopes).toEqual([-1 / 20, -1 / 20])
  const unknown = rows.map((member) => ({ ...member, tokenLimit: null }))
  expect(() => algorithm.minibatchLoss(unknown)(unknown)).toThrow('how many tokens')
})

/** Trajectories with a ratio per token, under a behaviour policy that found every token as likely as not. */
const ratioRow = (ratios: readonly number[], advantage: number, more: Partial<LossRow> = {}): LossRow => ({
  ...row([0], ratios.length),
  advantages: new Float64Array(ratios.length).fill(advantage),
  returns: null,
  behaviorLogprobs: new Float64Array(ratios.length).fill(-1),
  logprobs: Float64Array.from(ratios, (ratio) => Math.log(ratio) - 1),
  entropies: new Float64Array(ratios.length),
  values: null,
  correction: null,
  ...more,
})

describe('shares of clipped ratios', () => {
  const rows = [
    ratioRow([2], 1),
    ratioRow([1, 1, 1], 1),
    ratioRow([0.5, 0.5, 0.5, 0.5], -1),
    ratioRow([1, 1], 1),
  ]
  const metricsOf = (algorithm: typeof grpo) =>
    tallyMeans(algorithm.configure({ klCoefficient: 0 }).minibatchLoss(rows)(rows).tallies)

  test('count trajectories where a trajectory has one ratio', () => {
    expect(metricsOf(gspo)).toMatchObject({ 'clip_ratio/high_mean': 1 / 4, 'clip_ratio/low_mean': 1 / 4 })
  })

  test('count tokens where each has its own', () => {
    expect(metricsOf(grpo)).toMatchObject({ 'clip_ratio/high_mean': 1 / 10, 'clip_ratio/low_mean': 4 / 10 })
  })
})

test('CISPO bounds a weight from above; from below only where both bounds are given', () => {
  const slopeOf = (clipCoefficient: unknown, ratio: number) => {
    const rows = [ratioRow([ratio], 1)]
    const algorithm = cispo.configure({ klCoefficient: 0, clipCoefficient })
    return algorithm.minibatchLoss(rows)(rows).coefficients[0]!.logprobs[0]
  }
  expect(slopeOf(0.2, 0.25)).toBeCloseTo(-0.25, 12)
  expect(slopeOf(0.2, 3)).toBeCloseTo(-1.2, 12)
  expect(slopeOf([0.8, 1.2], 0.25)).toBeCloseTo(-0.8, 12)
})

test.each(['trajectory-mean', 'token-mean', 'constant-length'])(
  'the bonus on entropy is a mean over tokens (%s)',
  (lossNorm) => {
    const rows = [ratioRow([1], 0, { tokenLimit: 9 }), ratioRow([1, 1, 1], 0, { tokenLimit: 9 })]
    const algorithm = grpo.configure({ klCoefficient: 0, entropyCoefficient: 0.4, lossNorm })
    const { coefficients } = algorithm.minibatchLoss(rows)(rows)
    expect(coefficients.flatMap(({ entropies }) => [...entropies!])).toEqual([-0.1, -0.1, -0.1, -0.1])
  },
)

describe('off-policy trajectories', () => {
  const slopes = (rows: LossRow[]) => {
    const algorithm = grpo.configure({ klCoefficient: 0, offPolicyThreshold: 0.1 })
    const { coefficients } = algorithm.minibatchLoss(rows)(rows)
    return coefficients.map(({ logprobs }) => logprobs[0])
  }

  test('teach by positive advantages only', () => {
    expect(slopes([ratioRow([0.85], -1), ratioRow([0.85], 1), ratioRow([0.95], -1)])).toEqual([
      0,
      expect.closeTo(-0.85 / 3, 12),
      expect.closeTo(0.95 / 3, 12),
    ])
  })

  test('are measured from what the sampler said, where it said anything', () => {
    const samplerLogprobs = Float64Array.of(-0.5)
    expect(slopes([ratioRow([1], -1), ratioRow([1], -1, { samplerLogprobs })])).toEqual([0.5, 0])
  })
})

describe('settings that contradict each other', () => {
  test('a pair that shuts out a ratio of 1 is taken for distances', () => {
    for (const algorithm of [grpo, gspo, cispo]) {
      expect(() => algorithm.configure({ clipCoefficient: [0.2, 0.28] })).toThrow(
        'algorithm.settings.clipCoefficient: a pair means the bounds of the ratio',
      )
      expect(algorithm.configure({ clipCoefficient: [0.8, 1.28] }).id).toBe(algorithm.id)
    }
  })

  test('the limit of a two-sided clip is above the upper bound', () => {
    for (const algorithm of [grpo, gspo, ppo]) {
      expect(() => algorithm.configure({ clipCoefficient: 0.5, ratioLimit: 1.5 })).toThrow(
        'ratioLimit: must be above the upper clip bound 1.5, got 1.5.',
      )
    }
  })

  test('values out of range are named with what would fit', () => {
    expect(() => grpo.configure({ topEntropyShare: 0 })).toThrow(
      'topEntropyShare: expected at least 0.01, got 0',
    )
    expect(() => grpo.configure({ overlongBuffer: 1.5 })).toThrow(
      'overlongBuffer: expected a whole number, got 1.5',
    )
    expect(() => ppo.configure({ gaeLambda: 2, discount: -1 })).toThrow(
      /gaeLambda.*discount|discount.*gaeLambda/,
    )
  })
})

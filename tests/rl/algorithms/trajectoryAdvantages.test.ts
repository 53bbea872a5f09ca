/** RLOO, ReMax and REINFORCE++: what a whole trajectory is worth. */
import { describe, expect, test } from 'vitest'
import { reinforcePlusPlus } from '#rl/algorithms/reinforcePlusPlus.ts'
import { remax } from '#rl/algorithms/remax.ts'
import { rloo } from '#rl/algorithms/rloo.ts'
import type { Advantages, Experience, LossRow } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const row = (group: number, turnRewards: number[], more: Partial<Experience> = {}): Experience => ({
  ...bareExperience,
  group,
  actionMask: Uint8Array.of(0, 1, 1),
  turnIds: null,
  turnRewards,
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: null,
  ...more,
})

const values = ({ tokens }: Advantages): number[] => tokens.map((row) => row[row.length - 1]!)

describe('RLOO', () => {
  const plain = { klCoefficient: 0 }

  test('each reward against the mean of the others of its prompt; alone it teaches nothing', () => {
    const batch = [row(1, [1]), row(2, [5]), row(1, [2, 1]), row(1, [5])]
    const advantages = rloo.configure(plain).advantages(batch)
    expect(values(advantages)).toEqual([1 - 4, 0, 3 - 3, 5 - 2])
    expect(advantages.tokens[0]![0]).toBe(0)
  })

  test('the divergence of a whole trajectory is taken off its reward, after the reward is limited', () => {
    const far = row(0, [9], {
      behaviorLogprobs: Float64Array.of(7, -1, -2),
      referenceLogprobs: Float64Array.of(0, -2, -4),
    })
    const near = row(0, [1], {
      behaviorLogprobs: new Float64Array(3),
      referenceLogprobs: new Float64Array(3),
    })
    const algorithm = rloo.configure({ klCoefficient: 0.5, rewardClipRange: 4 })
    expect(algorithm.needs).toMatchObject({ behavior: true, reference: true })
    expect(values(algorithm.advantages([far, near]))).toEqual([1.5, -1.5]) // 4 − 0.5·3 = 2.5 against 1
  })

  test('standardised over the batch on request', () => {
    const batch = [row(0, [0]), row(0, [1]), row(1, [0]), row(1, [3])]
    const advantages = values(rloo.configure({ ...plain, normalizeAdvantages: true }).advantages(batch))
    expect(advantages.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 12)
    expect(advantages.reduce((a, b) => a + b * b, 0) / 3).toBeCloseTo(1, 6)
  })
})

describe('ReMax', () => {
  test('sampled less greedy reward; a tie teaches nothing', () => {
    const batch = [row(0, [2], { baselineReward: 0.5 }), row(1, [1], { baselineReward: 1 })]
    expect(remax.configure({}).needs.greedyBaseline).toBe(true)
    expect(values(remax.configure({}).advantages(batch))).toEqual([1.5, 0])
    expect(() => remax.configure({}).advantages([row(0, [1])])).toThrow('greedy')
  })

  test('every aligned token has the coefficient −(sampled − greedy) / number of tokens', () => {
    const batch = [
      row(0, [2], { baselineReward: 0.5 }),
      row(1, [0], { baselineReward: 1, actionMask: Uint8Array.of(0, 0, 1) }),
    ]
    const algorithm = remax.configure({})
    const { tokens } = algorithm.advantages(batch)
    const logprobs = Float64Array.of(-3, -1, -2)
    const rows = batch.map((experience, i): LossRow => ({
      ...experience,
      advantages: tokens[i]!,
      returns: null,
      behaviorLogprobs: logprobs,
      logprobs,
      entropies: new Float64Array(3),
      values: null,
      correction: null,
    }))
    const { loss, coefficients } = algorithm.minibatchLoss(rows)(rows)
    expect(coefficients.map(({ logprobs: slopes }) => [...slopes])).toEqual([
      [0, -0.5, -0.5],
      [0, 0, 1 / 3],
    ])
    expect(loss).toBeCloseTo((-1.5 * (-1 - 2) + 1 * -2) / 3, 12)
  })
})

describe('REINFORCE++ with baseline', () => {
  const algorithm = reinforcePlusPlus.configure({ klCoefficient: 0 })

  test('centred in the group, scaled by the spread over all tokens of the batch', () => {
    const long = Uint8Array.of(1, 1, 1, 1)
    const batch = [row(0, [0]), row(0, [2]), row(1, [10], { actionMask: long }), row(1, [16])]
    const advantages = values(algorithm.advantages(batch))
    // Tokens: −1 −1, 1 1, −3 ×4, 3 3: mean −0.6, sample variance (4·1 + 6·9 − 10·0.36) / 9.
    const spread = Math.sqrt((4 + 54 - 3.6) / 9)
    advantages.forEach((advantage, i) =>
      expect(advantage).toBeCloseTo(([-1, 1, -3, 3][i]! + 0.6) / spread, 6),
    )
  })

  test('equal rewards in every group are exactly nothing', () => {
    expect(values(algorithm.advantages([row(0, [0.3]), row(0, [0.3]), row(1, [7]), row(1, [7])]))).toEqual([
      0, 0, 0, 0,
    ])
  })
})

test.each([
  ['rloo', rloo.configure({ klCoefficient: 0, maskTruncated: true })],
  ['remax', remax.configure({ maskTruncated: true })],
  ['reinforce-plus-plus', reinforcePlusPlus.configure({ klCoefficient: 0, maskTruncated: true })],
] as const)('%s leaves out what was cut off, but not from the baseline', (_, algorithm) => {
  const more = { baselineReward: 0 }
  const batch = [row(0, [4], { ...more, truncated: true }), row(0, [1], more), row(0, [2], more)]
  const { kept, tokens } = algorithm.advantages(batch)
  expect(kept).toEqual([1, 2])
  const withoutBaseline = algorithm.advantages(batch.slice(1)).tokens[0]![1]!
  if (algorithm.id === 'rloo') expect(tokens[1]![1]).toBeLessThan(withoutBaseline)
})

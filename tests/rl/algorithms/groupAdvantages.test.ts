import { describe, expect, test } from 'vitest'
import { groupAdvantages as compared } from '#rl/algorithms/terms/groupAdvantages.ts'
import type { GroupAdvantageSettings } from '#rl/algorithms/terms/groupSettings.ts'
import { hasNoSpread, partsApart } from '#rl/algorithms/terms/groups.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import { sapo } from '#rl/algorithms/sapo.ts'
import type { Experience } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const plain: GroupAdvantageSettings = {
  advantageNorm: 'mean-std',
  rewardAggregation: 'sum-then-normalize',
  advantageGranularity: 'trajectory',
  turnAdvantageFallback: true,
  whitenAdvantages: false,
  advantageClipRange: null,
  maskTruncated: false,
  overlongBuffer: 0,
  overlongPenalty: 1,
  filterZeroAdvantages: false,
  advantageFilterEpsilon: 0,
}

const groupAdvantages = (batch: readonly Experience[], settings: GroupAdvantageSettings) =>
  compared(batch, settings, 'token', ({ rewards, mean, deviation }) =>
    rewards.map((reward) => (reward - mean) / deviation),
  )

const rows = (rewards: readonly number[], groups: readonly number[]): Experience[] =>
  rewards.map((reward, i) => ({
    ...bareExperience,
    group: groups[i]!,
    actionMask: Uint8Array.of(0, 1, 1),
    turnIds: null,
    turnRewards: [reward],
    behaviorLogprobs: null,
    referenceLogprobs: null,
    behaviorValues: null,
  }))

const firstOf = (tokens: readonly Float64Array[]) => tokens.map((row) => row[1]!)

describe('group advantages', () => {
  test('groups may have any size and stand in any order; a group of one teaches nothing', () => {
    const { tokens } = groupAdvantages(rows([1, 5, 3, 7], [9, 2, 9, 4]), {
      ...plain,
      advantageNorm: 'mean-only',
    })
    expect(firstOf(tokens)).toEqual([-1, 0, 1, 0])
    expect(tokens.map((row) => row[0])).toEqual([0, 0, 0, 0])
  })

  test('rewards that differ by rounding only give exactly 0', () => {
    const almost = [0.1 + 0.2, 0.3, 0.3, 0.3]
    expect(almost[0]).not.toBe(almost[1])
    expect(hasNoSpread(almost)).toBe(true)
    for (const advantageNorm of ['mean-std', 'mean-only'] as const) {
      const { tokens, kept } = groupAdvantages(rows(almost, [0, 0, 0, 0]), {
        ...plain,
        advantageNorm,
        filterZeroAdvantages: true,
      })
      expect(firstOf(tokens)).toEqual([0, 0, 0, 0])
      expect(kept).toEqual([])
    }
  })

  test('small but real differences count', () => {
    const { tokens } = groupAdvantages(rows([1e-6, -1e-6], [0, 0]), plain)
    expect(tokens[0]![1]).toBeCloseTo(Math.SQRT1_2, 2)
  })
})

describe('settings', () => {
  test('defaults are filled in and mistakes are named', () => {
    expect(grpo.configure({}).needs.reference).toBe(true)
    expect(grpo.configure({ klCoefficient: 0 }).needs.reference).toBe(false)
    expect(() => grpo.configure({ klCoeficient: 0 })).toThrow('algorithm.settings.klCoeficient: unknown key.')
    expect(() => grpo.configure({ advantageNorm: 'max' })).toThrow(
      'expected one of "mean-std", "mean-batch-std", "mean-only", got "max"',
    )
    expect(() => grpo.configure({ clipCoefficient: [1.2, 0.8] })).toThrow('clipCoefficient')
    expect(() => grpo.configure({ advantageClipRange: 0 })).toThrow('advantageClipRange')
  })
})

describe('rewards apart (normalize-then-sum)', () => {
  const names = ['format', 'length', 'judge']
  const weights = new Map([
    ['length', 0.5],
    ['judge', 2],
  ])
  const rewarded = (values: readonly (number | null)[], group: number): Experience => {
    const parts = Object.fromEntries(values.map((value, k) => [names[k]!, value]))
    const total = values.reduce<number>(
      (sum, value, k) => sum + (weights.get(names[k]!) ?? 1) * (value ?? 0),
      0,
    )
    return { ...rows([total], [group])[0]!, ...partsApart(parts, weights) }
  }
  const apart = { ...plain, rewardAggregation: 'normalize-then-sum' as const }

  test('are those of TRL’s normalize_then_sum (1.x, nanstd, 1e-8 in place of its 1e-4)', () => {
    const values = [
      [0.824, -0.007, -11.889],
      [-0.399, null, 7.655],
      [1.008, -0.008, -23.463],
      [0.225, 0.007, 15.469],
      [-0.746, 0.019, 16.909],
      [1.403, 0.006, 0.185],
      [0.763, 0.008, null],
      [null, 0.008, 24.822],
      [1, 0.007, -8.441],
      [1, -0.002, -2.335],
      [1, 0.003, -4.267],
      [1, -0.016, 27.112],
    ]
    const { tokens } = groupAdvantages(
      values.map((row, i) => rewarded(row, Math.floor(i / 4))),
      apart,
    )
    const trl = [
      -0.4398567, -0.0539782, -1.2152474, 1.7090823, 0.0741405, -1.2386414, 0.0522756, 1.1122253, -0.6960634,
      -0.4769571, -0.4685575, 1.6415779,
    ]
    firstOf(tokens).forEach((advantage, i) => expect(advantage).toBeCloseTo(trl[i]!, 5))
  })

  test('teach where their sum is the same, and keep such a group with dynamic sampling', () => {
    const hidden = [
      [1, 0, 0],
      [0, 2, 0],
    ].map((row) => rewarded(row, 0))
    expect(firstOf(groupAdvantages(hidden, plain).tokens)).toEqual([0, 0])
    const [first, second] = firstOf(groupAdvantages(hidden, apart).tokens)
    expect(first).toBeGreaterThan(0.5)
    expect(second).toBeCloseTo(-first!, 6)
    const accepts = (rewardAggregation: string) =>
      grpo.configure({ dynamicSampling: true, rewardAggregation }).acceptance!.accepts(hidden)
    expect(accepts('sum-then-normalize')).toBe(false)
    expect(accepts('normalize-then-sum')).toBe(true)
  })

  test('count the length penalty as a part, and one reward is compared as ever', () => {
    const short = { ...rows([1], [0])[0]!, tokenLimit: 4 }
    const long = { ...short, actionMask: Uint8Array.of(0, 1, 1, 1, 1), turnIds: null }
    const { tokens } = groupAdvantages([short, long], { ...apart, overlongBuffer: 2 })
    expect(tokens[0]![1]).toBeGreaterThan(0.5)
    const alone = rows([3, 5, 5, 1], [0, 0, 1, 1])
    const whitened = groupAdvantages(alone, { ...plain, whitenAdvantages: true })
    expect(groupAdvantages(alone, apart)).toEqual(whitened)
  })

  test('are refused turn by turn', () => {
    const settings = { rewardAggregation: 'normalize-then-sum', advantageGranularity: 'turn' }
    expect(() => grpo.configure(settings)).toThrow('compares the parts of whole trajectories')
    expect(() => sapo.configure(settings)).toThrow('compares the parts of whole trajectories')
  })
})

import { describe, expect, test } from 'vitest'
import { groupAdvantages as compared } from '#rl/algorithms/terms/groupAdvantages.ts'
import type { GroupAdvantageSettings } from '#rl/algorithms/terms/groupSettings.ts'
import { hasNoSpread } from '#rl/algorithms/terms/groups.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import type { Experience } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const plain: GroupAdvantageSettings = {
  advantageNorm: 'mean-std',
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

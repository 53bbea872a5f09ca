import { describe, expect, test } from 'vitest'
import { rewardTokens } from '#rl/algorithms/terms/rewards.ts'
import { reinforce } from '#rl/algorithms/reinforce.ts'
import type { Experience } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const twoTurns: Experience = {
  ...bareExperience,
  group: 0,
  actionMask: Uint8Array.of(0, 1, 1, 0, 1, 1, 1),
  turnIds: Int32Array.of(-1, 0, 0, -1, 1, 1, 1),
  turnRewards: [2, 5],
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: null,
}

describe('reward placement', () => {
  test('on every token of its turn, or on the last one', () => {
    expect([...rewardTokens(twoTurns, 'every-token')]).toEqual([0, 2, 2, 0, 5, 5, 5])
    expect([...rewardTokens(twoTurns, 'terminal')]).toEqual([0, 0, 2, 0, 0, 0, 5])
  })

  test('what single tokens earned stands on them, the rest of the turn as it is placed', () => {
    const tokenRewards = Float64Array.of(0, 0.5, 0, 0, 0, 3, 0)
    const row = { ...twoTurns, tokenRewards } // 1.5 of 2 and 2 of 5 are left
    expect([...rewardTokens(row, 'every-token')]).toEqual([0, 2, 1.5, 0, 2, 5, 2])
    expect([...rewardTokens(row, 'terminal')]).toEqual([0, 0.5, 1.5, 0, 0, 3, 2])
  })

  test('returns per token follow them; returns per turn take their sum', () => {
    const one = { ...twoTurns, actionMask: new Uint8Array(3).fill(1), turnIds: null, turnRewards: [6] }
    const early = { ...one, tokenRewards: Float64Array.of(6, 0, 0) }
    const late = { ...one, tokenRewards: Float64Array.of(0, 0, 6) }
    const tokensOf = (granularity: string, row: Experience) =>
      reinforce
        .configure({ klCoefficient: 0, discount: 0.5, advantageGranularity: granularity })
        .advantages([row, { ...row, turnRewards: [0], tokenRewards: null }]).tokens[0]!
    // Returns 6, 0, 0 and 1.5, 3, 6 before they are standardised with three zeros.
    const [a, b] = [tokensOf('token', early), tokensOf('token', late)]
    const standard = (returns: number[]) => {
      const all = [...returns, 0, 0, 0]
      const mean = all.reduce((x, y) => x + y, 0) / 6
      const spread = Math.sqrt(all.reduce((x, y) => x + (y - mean) ** 2, 0) / 5)
      return returns.map((value) => (value - mean) / (spread + 1e-8))
    }
    standard([6, 0, 0]).forEach((value, t) => expect(a[t]).toBeCloseTo(value, 12))
    standard([1.5, 3, 6]).forEach((value, t) => expect(b[t]).toBeCloseTo(value, 12))
    expect(tokensOf('turn', early)).toEqual(tokensOf('turn', one))
  })

  test('with terminal rewards the length of a completion does not change what it returns', () => {
    const row = (length: number, reward: number): Experience => ({
      ...twoTurns,
      actionMask: new Uint8Array(length).fill(1),
      turnIds: null,
      turnRewards: [reward],
    })
    const firstOf = (placement: string) =>
      reinforce
        .configure({ klCoefficient: 0, rewardPlacement: placement })
        .advantages([row(2, 1), row(9, 1), row(4, -1)])
        .tokens.map((tokens) => tokens[0]!)
    const [short, long] = firstOf('terminal')
    expect(short).toBe(long)
    const [shortEvery, longEvery] = firstOf('every-token')
    expect(longEvery).toBeGreaterThan(shortEvery! + 1)
  })
})

describe('needs', () => {
  test('a divergence in the reward needs both policies before the update', () => {
    expect(reinforce.configure({}).needs).toMatchObject({ behavior: true, reference: true })
    expect(reinforce.configure({ klCoefficient: 0 }).needs).toMatchObject({
      behavior: false,
      reference: false,
    })
  })
})

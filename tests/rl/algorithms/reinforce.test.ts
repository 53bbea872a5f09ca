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

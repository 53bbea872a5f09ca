/** Rewards on trajectories: what functions are shown of the tokens, and where what they say comes to stand. */
import { describe, expect, test } from 'vitest'
import type { RewardFunction, RewardInput, RewardSpec } from '#rl/rewards.ts'
import { singleTurnTrajectory, type UnscoredTrajectory } from '#rl/rollout/trajectory.ts'
import { rewardTrajectories } from '#rl/rollout/trajectoryRewards.ts'
import { fakeTokenizer } from './fakePolicy.ts'

const prompt = { row: 0, columns: {}, text: 'ab', ids: fakeTokenizer.encode('ab') }
const generated = {
  ids: Int32Array.of(3, 4, 0),
  logprobs: Float64Array.of(-1, -2, -3),
  stopReason: 'stop-id',
} as const
const single = singleTurnTrajectory(prompt, 0, generated, 'cd')

/** Two turns of two tokens and one, of at most three: a b | c d | e | f, actions c, d and f. */
const episode: UnscoredTrajectory = {
  ...single,
  ids: fakeTokenizer.encode('abcdef'),
  actionMask: Uint8Array.of(0, 1, 1, 0, 1),
  turnIds: Int32Array.of(-1, 0, 0, -1, 1),
  episode: {
    end: 'terminated',
    turns: 2,
    turnRewards: [10, 20, 0],
    total: 30,
    lastAction: 'f',
    overflow: null,
    failure: null,
    columns: {},
    metrics: {},
  },
}

const spec = (score: RewardFunction['score'], needsTokens = false, weight = 1): RewardSpec => ({
  name: 'r',
  weight,
  function: { id: 'r', description: '', needsTokens, score },
})
const rewarded = (trajectory: UnscoredTrajectory, ...rewards: RewardSpec[]) =>
  rewardTrajectories([trajectory], { rewards, onFailure: 'fail', step: 1, tokenizer: fakeTokenizer })

describe('tokens', () => {
  test('are shown to functions that ask, with text, log-probability and turn', async () => {
    const seen: RewardInput[] = []
    const watching = (needsTokens: boolean) =>
      spec((inputs) => {
        seen.push(...inputs)
        return inputs.map(() => ({ value: 1 }))
      }, needsTokens)
    await rewarded(single, watching(true))
    await rewarded(episode, watching(true))
    await rewarded(single, watching(false))
    expect(seen[0]!.tokens).toEqual([
      { id: 3, text: 'c', logprob: -1, turn: 0 },
      { id: 4, text: 'd', logprob: -2, turn: 0 },
      { id: 0, text: '', logprob: -3, turn: 0 },
    ])
    expect(seen[1]!.tokens!.map(({ text, turn }) => [text, turn])).toEqual([
      ['c', 0],
      ['d', 0],
      ['f', 1],
    ])
    expect(seen[2]).not.toHaveProperty('tokens')
    expect(seen.map(({ turnLengths }) => turnLengths)).toEqual([[3], [2, 1], [3]])
  })
})

describe('what functions say', () => {
  const perToken = spec((inputs) => inputs.map(() => ({ value: 7, perToken: [1, 2, 4] })))
  const perTurn = spec((inputs) => inputs.map(() => ({ value: 300, perTurn: [100, 200] })), false, 0.5)
  const whole = spec((inputs) => inputs.map(() => ({ value: 1000 })))

  test('of tokens stands on them, and in their turn', async () => {
    const [one] = await rewarded(single, perToken, { ...whole, name: 'w' })
    expect(one!.turnRewards).toEqual([1007])
    expect([...one!.tokenRewards!]).toEqual([0, 1, 2, 4])
    const [played] = await rewarded(episode, perToken)
    expect(played!.turnRewards).toEqual([13, 24, 0])
    expect([...played!.tokenRewards!]).toEqual([0, 1, 2, 0, 4])
    expect(played!.reward.total).toBe(37)
  })

  test('of turns counts in its turn, and one number in the last', async () => {
    const [played] = await rewarded(episode, perTurn, { ...whole, name: 'w' })
    expect(played!.turnRewards).toEqual([10 + 50, 20 + 100 + 1000, 0])
    expect(played!.tokenRewards).toBeNull()
    const [alone] = await rewarded(
      { ...episode, episode: { ...episode.episode!, total: null, turnRewards: [0, 0, 0] } },
      perTurn,
    )
    expect(alone!.turnRewards).toEqual([50, 100, 0])
  })

  test('nothing at all leaves the trajectory out', async () => {
    const [none] = await rewarded(
      single,
      spec((inputs) => inputs.map(() => ({ value: null }))),
    )
    expect(none).toMatchObject({ turnRewards: [], tokenRewards: null, reward: { total: null } })
  })
})

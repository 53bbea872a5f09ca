import { describe, expect, test } from 'vitest'
import { type Trajectory, unscored } from '#rl/rollout/trajectory.ts'
import { evaluationMetrics, rolloutMetrics } from '#rl/training/stepMetrics.ts'

interface Sketch {
  readonly group: number
  readonly reward: number | null
  readonly length: number
  readonly stopReason?: Trajectory['stopReason']
  readonly part?: number | null
}

const trajectory = ({
  group,
  reward,
  length,
  stopReason = 'stop-id',
  part = reward,
}: Sketch): Trajectory => ({
  ...unscored,
  prompt: { row: group, columns: {}, text: 'p', ids: Int32Array.of(1) },
  group,
  ids: new Int32Array(length + 1),
  actionMask: new Uint8Array(length).fill(1),
  turnIds: null,
  samplerLogprobs: null,
  completion: 'c',
  completionTokens: length,
  stopReason,
  truncated: stopReason === 'length',
  lastState: null,
  episode: null,
  reward: { parts: { right: part }, total: reward, failures: [] },
  turnRewards: reward === null ? [] : [reward],
  tokenRewards: null,
})

const step = [
  trajectory({ group: 0, reward: 1, length: 2 }),
  trajectory({ group: 0, reward: 3, length: 4 }),
  trajectory({ group: 1, reward: 2, length: 6, stopReason: 'length', part: null }),
  trajectory({ group: 1, reward: 2, length: 3, stopReason: 'stop-string' }),
  trajectory({ group: 1, reward: null, length: 5, stopReason: 'length' }),
]

describe('metrics of a step', () => {
  test('rewards count where there are any, spread is within groups', () => {
    expect(rolloutMetrics(step)).toMatchObject({
      reward: 2,
      reward_std: Math.SQRT2 / 2,
      frac_reward_zero_std: 0.5,
      'rewards/right/mean': 2,
      'rewards/right/std': 1,
      'reward/unscored': 1,
      'reward/failures': 0,
    })
  })

  test('without groups the spread is that of the step', () => {
    const metrics = rolloutMetrics([step[0]!, { ...step[1]!, group: 5 }])
    expect(metrics.reward_std).toBeCloseTo(Math.SQRT2, 12)
    expect(metrics.frac_reward_zero_std).toBeUndefined()
  })

  test('lengths tell completions that ended from those cut off', () => {
    expect(rolloutMetrics(step)).toMatchObject({
      'completions/mean_length': 4,
      'completions/min_length': 2,
      'completions/max_length': 6,
      'completions/clipped_ratio': 0.4,
      'completions/mean_terminated_length': 3,
      'completions/min_terminated_length': 2,
      'completions/max_terminated_length': 4,
    })
  })

  test('nothing is said of rewards when there are none', () => {
    expect(rolloutMetrics([step[4]!])).not.toHaveProperty('reward')
    expect(evaluationMetrics([step[4]!])).not.toHaveProperty('eval_reward')
  })

  test('held-out rows have names of their own', () => {
    expect(evaluationMetrics(step)).toEqual({
      eval_reward: 2,
      'eval_rewards/right/mean': 2,
      'eval_completions/mean_length': 4,
      'eval_completions/clipped_ratio': 0.4,
    })
  })
})

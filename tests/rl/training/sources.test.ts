/** Where trajectories come from, and what the algorithm is told of them. */
import { describe, expect, test } from 'vitest'
import { dpo } from '#rl/algorithms/dpo.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import { kto } from '#rl/algorithms/kto.ts'
import { orpo } from '#rl/algorithms/orpo.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import { reinforce } from '#rl/algorithms/reinforce.ts'
import { reinforcePlusPlus } from '#rl/algorithms/reinforcePlusPlus.ts'
import { remax } from '#rl/algorithms/remax.ts'
import { sft } from '#rl/algorithms/sft.ts'
import { simpo } from '#rl/algorithms/simpo.ts'
import type { RewardSpec } from '#rl/rewards.ts'
import { declarationOf, type MetricName } from '#shared/metrics.ts'
import { fakePolicy } from '../fakePolicy.ts'
import {
  collect,
  dependenciesOf,
  evaluations,
  expectExactResume,
  likesC,
  rewardOf,
  steps,
  watched,
} from './run.ts'

describe('what the algorithm is told of a rollout', () => {
  test('whether a limit cut it off, and where the limit lies', async () => {
    const { algorithm, batches } = watched(grpo.configure({ klCoefficient: 0 }))
    await collect(dependenciesOf({ algorithm, config: { steps: 1 } }))
    const [batch] = batches
    expect(new Set(batch!.map(({ tokenLimit }) => tokenLimit))).toEqual(new Set([6]))
    expect(new Set(batch!.map(({ truncated }) => truncated))).toEqual(new Set([true, false]))
    for (const { actionMask, truncated } of batch!) {
      if (truncated) expect(actionMask.reduce((sum, isAction) => sum + isAction, 0)).toBe(6)
    }
  })

  test('the behaviour policy’s entropies where the loss looks at them', async () => {
    const policy = fakePolicy()
    const { algorithm, minibatches } = watched(grpo.configure({ klCoefficient: 0, topEntropyShare: 0.5 }))
    await collect(dependenciesOf({ algorithm, policy, config: { steps: 1 } }))
    expect(policy.calls['score actor']).toBe(1)
    for (const { behaviorEntropies, actionMask } of minibatches[0]!) {
      actionMask.forEach((isAction, t) => {
        expect(behaviorEntropies![t]).toBeCloseTo(isAction === 1 ? Math.log(9) : 0, 9)
      })
    }
  })

  test('what the granularity of the batch came to, in every minibatch', async () => {
    const { algorithm, minibatches } = watched(ppo.configure({}))
    await collect(dependenciesOf({ algorithm, optimization: { minibatchSize: 2 }, config: { steps: 1 } }))
    expect(minibatches).toHaveLength(2)
    for (const row of minibatches.flat()) {
      expect(row.granularity).toBe('token')
      expect(row.behaviorValues).not.toBeNull()
      expect(row.returns).not.toBeNull()
    }
  })
})

describe('rewards per token', () => {
  /** Pays each letter c where it stands. */
  const paysC: RewardSpec = {
    ...likesC,
    function: {
      ...likesC.function,
      needsTokens: true,
      score: (inputs) =>
        inputs.map(({ tokens }) => {
          const perToken = tokens!.map(({ text }) => Number(text === 'c'))
          return { value: perToken.reduce((sum, each) => sum + each, 0), perToken }
        }),
    },
  }

  test.each([
    ['PPO', ppo.configure({ klCoefficient: 0, gaeLambda: 0, discount: 0 })],
    ['REINFORCE', reinforce.configure({ klCoefficient: 0, discount: 0 })],
    ['REINFORCE++', reinforcePlusPlus.configure({ klCoefficient: 0 })],
  ])('%s learns from them', async (_, configured) => {
    const { algorithm, batches, minibatches } = watched(configured)
    const rollout = { groupSize: 4 }
    const events = await collect(
      dependenciesOf({ algorithm, rewards: [paysC], rollout, config: { steps: 30 } }),
    )
    const rewards = steps(events).map(({ metrics }) => metrics.reward ?? 0)
    expect(rewards[0]).toBeLessThan(1.5)
    expect(rewards.at(-1)).toBeGreaterThan(4)
    for (const { tokenRewards, turnRewards } of batches.flat())
      expect(tokenRewards!.reduce((sum, each) => sum + each, 0)).toBe(turnRewards[0])
    if (configured.id === 'reinforce-plus-plus') return
    // Looking no further than the next token, an action is worth what it earned itself: every c the same, more than any other.
    const row = minibatches[0]!.find(({ tokenRewards }) => new Set(tokenRewards).size > 1)!
    const worthOf = (paid: boolean) =>
      [...row.advantages].filter((_, t) => row.actionMask[t] === 1 && row.tokenRewards![t] === Number(paid))
    expect(Math.min(...worthOf(true))).toBeGreaterThan(Math.max(...worthOf(false)))
  })
})

describe('greedy baselines', () => {
  test('are asked once per prompt, and every sample of the prompt is compared with its own', async () => {
    const policy = fakePolicy()
    const { algorithm, batches } = watched(remax.configure({}))
    const lengthOfPrompt = rewardOf((prompt, completion) => prompt.charCodeAt(0) + completion.length / 100)
    const events = await collect(
      dependenciesOf({
        algorithm,
        policy,
        rewards: lengthOfPrompt,
        rollout: { groupSize: 3 },
        config: { steps: 1 },
      }),
    )
    expect(policy.calls).toMatchObject({ generate: 1, greedy: 3 }) // one of them the step's, two evaluations
    expect(batches[0]).toHaveLength(12)
    for (const { baselineReward, turnRewards } of batches[0]!) {
      expect(Math.floor(baselineReward!)).toBe(Math.floor(turnRewards[0]!))
    }
    expect(steps(events)[0]!.metrics['reward/greedy_baseline']).toBeGreaterThan(90)
  })

  test('that cannot be judged leave their prompt out', async () => {
    const { algorithm, batches } = watched(remax.configure({}))
    let call = 0
    const rewards = rewardOf(() => (call++ < 4 ? 1 : Number.NaN)) // the samples come first, one of each prompt
    await collect(dependenciesOf({ algorithm, rewards, heldOutRows: [], config: { steps: 1 } }))
    expect(batches[0]).toEqual([])
  })
})

describe('groups that teach nothing', () => {
  /** Half of the prompts earn the same whatever is said. */
  const rewards = rewardOf((prompt, completion) =>
    'abd'.includes(prompt) ? 1 : completion.split('').filter((letter) => letter === 'c').length,
  )
  const settings = { klCoefficient: 0, dynamicSampling: true }

  test('are replaced by groups of the prompts that follow', async () => {
    const { algorithm, batches } = watched(grpo.configure(settings))
    const events = await collect(
      dependenciesOf({ algorithm, rewards, config: { steps: 1, data: { train: 't', shuffle: false } } }),
    )
    const { metrics } = steps(events)[0]!
    expect(metrics['rollout/groups_turned_down']).toBe(3)
    expect(metrics.epoch).toBe(1) // a, b, d, e, then f, g, h
    expect(metrics['update/trajectories']).toBe(32)
    expect(new Set(batches[0]!.map(({ group }) => group)).size).toBe(4)
    const totals = batches[0]!.map(({ turnRewards }) => turnRewards[0]!)
    expect(new Set(totals).size).toBeGreaterThan(2)
  })

  test('are given up after the last round', async () => {
    const algorithm = grpo.configure({ ...settings, refillRounds: 2 })
    const events = await collect(
      dependenciesOf({ algorithm, rewards: rewardOf(() => 1), heldOutRows: [], config: { steps: 1 } }),
    )
    expect(steps(events)[0]!.metrics).toMatchObject({
      'rollout/groups_turned_down': 12,
      'update/trajectories': 0,
      epoch: 12 / 7,
    })
  })

  test('a row that comes again in a step is sampled anew', async () => {
    const { algorithm, batches } = watched(grpo.configure({ ...settings, refillRounds: 6 }))
    let call = 0
    const second = rewardOf((_, completion) => (call++ < 8 ? 1 : completion.length))
    const seen: string[] = []
    const policy = fakePolicy()
    const config = { steps: 1, shownTrajectories: 64 }
    const rollout = { promptsPerStep: 1 }
    const one = dependenciesOf({
      algorithm,
      policy,
      rewards: second,
      rollout,
      config,
      trainRows: [{ prompt: 'a' }],
    })
    await collect({ ...one, data: { ...one.data, heldOut: [] } }, (event) => {
      if (event.type === 'samples') seen.push(...event.samples.map(({ completion }) => completion))
    })
    expect(batches[0]).toHaveLength(8)
    expect(seen).toHaveLength(16)
    expect(seen.slice(0, 8)).not.toEqual(seen.slice(8))
  })

  test('and a run that replaces them resumes exactly', () =>
    expectExactResume({ algorithm: grpo.configure(settings), rewards }))
})

describe('given answers', () => {
  test('need no rollout and no second look before the update, and no gap to a sampler is spoken of', async () => {
    const policy = fakePolicy()
    const { algorithm, minibatches } = watched(sft.configure({}))
    const rollout = { promptsPerStep: 4, temperature: 0.5 }
    const optimization = { epochs: 2, minibatchSize: 2 }
    const options = { algorithm, policy, rollout, optimization, rewards: [], config: { steps: 3 } }
    const events = await collect(dependenciesOf(options))
    expect(policy.calls).toEqual({ 'score actor': 2, accumulate: 12, update: 12 })
    expect(new Set(policy.temperatures)).toEqual(new Set([1]))
    expect(minibatches.slice(1, 5).map(({ length }) => length)).toEqual([2, 2, 2, 2])
    const names = Object.keys(steps(events)[0]!.metrics)
    expect(names).toEqual(expect.arrayContaining(['perplexity', 'surprisal', 'completions/mean_length']))
    expect(names.filter((name) => /^(sampling|reward)/.test(name))).toEqual([])
  })

  test('make the held-out loss fall, which needs no reward', async () => {
    const config = { steps: 10 }
    const events = await collect(dependenciesOf({ algorithm: sft.configure({}), rewards: [], config }))
    const [before, after] = [evaluations(events)[0]!.metrics, evaluations(events).at(-1)!.metrics]
    expect(before.eval_loss).toBeCloseTo(Math.log(9), 9)
    expect(before.eval_perplexity).toBeCloseTo(9, 9)
    expect(after.eval_loss).toBeLessThan(0.6)
    expect(before.eval_reward).toBeUndefined()
  })

  test('in pairs raise the margin, the chosen answer first, measured from where training began', async () => {
    const { algorithm, minibatches } = watched(dpo.configure({ nllAlpha: 0 }))
    const optimization = { minibatchSize: 4 }
    const events = await collect(dependenciesOf({ algorithm, optimization, config: { steps: 10 } }))
    const [before, after] = [evaluations(events)[0]!.metrics, evaluations(events).at(-1)!.metrics]
    expect(before['eval_rewards/margins']).toBe(0)
    expect(after['eval_rewards/margins']).toBeGreaterThan(0.5)
    expect(after['eval_rewards/accuracies']).toBe(1)
    for (const minibatch of minibatches) {
      for (let i = 0; i < minibatch.length; i += 2) {
        expect(minibatch[i]!.group).toBe(minibatch[i + 1]!.group)
        expect(minibatch[i]!.actionMask.reduce((sum, isAction) => sum + isAction, 0)).toBe(7)
      }
    }
    const names = events.flatMap((event) => ('metrics' in event ? Object.keys(event.metrics) : []))
    for (const name of new Set(names)) expect(declarationOf(name as MetricName).explanation).not.toBe('')
  })

  test('are taken from the columns the config names, else from those there are', async () => {
    const maskOf = async (data: object, row: Record<string, string>) => {
      const { algorithm, minibatches } = watched(sft.configure({}))
      const config = { steps: 1, data: { train: 't', ...data } }
      await collect(dependenciesOf({ algorithm, trainRows: [row], heldOutRows: [], config }))
      return minibatches[0]![0]!.actionMask.reduce((sum, isAction) => sum + isAction, 0)
    }
    expect(await maskOf({}, { prompt: 'a', answer: 'bb' })).toBe(3)
    expect(await maskOf({ completion: 'other' }, { prompt: 'a', answer: 'bb', other: 'b' })).toBe(2)
    await expect(maskOf({ completion: 'none' }, { prompt: 'a' })).rejects.toThrow('column “none”')
  })

  test.each([sft, dpo, orpo, simpo, kto])('$id resumes exactly', (algorithm) =>
    expectExactResume({ algorithm: algorithm.configure({}) }),
  )
})

describe('the critic', () => {
  test('comes to foresee the returns', async () => {
    const algorithm = ppo.configure({ klCoefficient: 0 })
    const policy = fakePolicy()
    const options = {
      algorithm,
      policy,
      optimization: { epochs: 4 },
      learningRatesAt: () => ({ actor: 0, critic: 0.5 }),
      rewards: rewardOf((prompt) => ('abd'.includes(prompt) ? 1 : 0)),
      rollout: { promptsPerStep: 14, maxNewTokens: 1 },
      config: { steps: 20 },
    }
    const events = await collect(dependenciesOf(options))
    const explained = steps(events).map(({ metrics }) => metrics['value/explained_variance']!)
    expect(explained[0]).toBe(0)
    expect(explained.at(-1)).toBeGreaterThan(0.9)
    expect(steps(events).at(-1)!.metrics.value_loss).toBeLessThan(steps(events)[0]!.metrics.value_loss!)
    expect(policy.table.every((logit) => logit === 0)).toBe(true)
  })

  test('and a run with one resumes exactly', () =>
    expectExactResume({ algorithm: ppo.configure({}), optimization: { epochs: 2, minibatchSize: 2 } }))
})

describe('the reference', () => {
  const settings = { klCoefficient: 0.1 }

  test('is the base where the config says so', async () => {
    const policy = fakePolicy()
    await collect(dependenciesOf({ policy, settings, config: { steps: 2, reference: { policy: 'base' } } }))
    expect(policy.calls['score base']).toBe(2)
    expect(policy.calls['score reference']).toBeUndefined()
  })

  test('moves after every so many steps, as far as it is mixed', async () => {
    const policy = fakePolicy()
    const reference = { refreshSteps: 2, mixing: 0.25 }
    await collect(dependenciesOf({ policy, settings, config: { steps: 3, reference } }), (event) => {
      if (event.type !== 'step') return
      expect(policy.calls.refreshReference ?? 0).toBe(event.step < 2 ? 0 : 1)
      if (event.step !== 2) return
      policy.reference.forEach((logit, i) => expect(logit).toBeCloseTo(0.25 * policy.table[i]!, 12))
    })
  })

  test('moves after every pass over the rows', async () => {
    const policy = fakePolicy()
    const moved: number[] = []
    const config = { steps: 6, reference: { refreshPasses: 1 } } // 7 rows, 4 of them a step
    await collect(dependenciesOf({ policy, settings, config }), (event) => {
      if (event.type === 'step') moved.push(policy.calls.refreshReference ?? 0)
    })
    expect(moved).toEqual([0, 1, 1, 2, 2, 3])
  })

  test.each([{ refreshSteps: 2, mixing: 0.5 }, { refreshPasses: 1 }])(
    'and a run that moves it resumes exactly: %j',
    (reference) => expectExactResume({ settings, config: { reference } }),
  )
})

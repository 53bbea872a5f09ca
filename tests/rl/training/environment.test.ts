import { describe, expect, test } from 'vitest'
import { distillation } from '#rl/algorithms/distillation.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import { reinforce } from '#rl/algorithms/reinforce.ts'
import type { Environment } from '#rl/rollout/environment.ts'
import type { EpisodeRun, EpisodeStep, Workflow } from '#rl/rollout/workflow.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEvent } from '#shared/events.ts'
import { fakePolicy } from '../fakePolicy.ts'
import {
  collect,
  dependenciesOf,
  evaluations,
  type RunOptions,
  steps,
  watched,
  withoutTimings,
} from './run.ts'

/** Three turns; a letter c in a turn is worth 1. */
const wantsC: Environment = {
  id: 'wants-c',
  description: 'For tests.',
  maxTurns: 3,
  reset: (starts) =>
    Promise.resolve(starts.map(() => ({ state: 0, observation: 'a', reward: null, terminated: false }))),
  step: (actions) =>
    Promise.resolve(
      actions.map(({ state, action }) => ({
        state: Number(state) + 1,
        observation: 'b',
        reward: action.includes('c') ? 1 : 0,
        terminated: state === 2,
      })),
    ),
}

interface Told {
  readonly completions: readonly { readonly text: string; readonly ids: readonly number[] }[]
}

/** Two turns in the environment, whose rewards are those of the turns. */
function twoTurns(truncated: boolean): Workflow {
  const asking = (request: Extract<EpisodeStep, { requests: unknown }>['requests'][number]['request']) => ({
    requests: [{ text: JSON.stringify(request), request }],
  })
  const act = ({ answers }: EpisodeRun): EpisodeStep => {
    const [reset, first, stepped, second, last] = answers as [
      ...[{ ids: number[] }, Told, { ids: number[]; state: unknown; reward: number }, Told],
      { reward: number } | undefined,
    ]
    if (answers.length === 0) return asking({ kind: 'reset' })
    if (answers.length === 1) return asking({ kind: 'generate', ids: reset.ids })
    const [one] = first.completions
    const opening = [...reset.ids, ...one!.ids]
    if (answers.length === 2) return asking({ kind: 'step', state: 0, action: one!.text, ids: opening })
    if (answers.length === 3) return asking({ kind: 'generate', ids: stepped.ids })
    const [two] = second.completions
    const ids = [...stepped.ids, ...two!.ids]
    if (last === undefined) return asking({ kind: 'step', state: stepped.state, action: two!.text, ids })
    const actions: [number, number][] = [
      [reset.ids.length, opening.length],
      [stepped.ids.length, ids.length],
    ]
    const turnRewards = [stepped.reward, last.reward]
    return { trajectories: [{ ids, actions, turnRewards, truncated }], columns: {}, metrics: {} }
  }
  return { id: 'two-turns', run: (episodes) => Promise.resolve(episodes.map(act)) }
}

const runOf = (options: RunOptions = {}, environment: Environment = wantsC) =>
  dependenciesOf({
    environment,
    rewards: [],
    rollout: { maxNewTokens: 1 },
    trainRows: [{}, {}, {}, {}],
    heldOutRows: [{}],
    ...options,
    config: {
      rewards: [],
      environment: { function: 'wants-c', applyChatTemplate: false },
      data: { train: { episodes: 4 }, heldOut: { rows: 1 } },
      steps: 20,
      ...options.config,
    },
  })

describe('training in an environment', () => {
  test.each([
    [null, 'the teacher short’s context of 32 must also hold 1 new tokens'],
    [20, 'the context of 20 must also hold 1 new tokens'],
  ])('a teacher that leaves no room for a first observation is named (%s)', async (contextLength, words) => {
    const wordy: Environment = {
      ...wantsC,
      reset: (starts) =>
        Promise.resolve(
          starts.map(() => ({ state: 0, observation: 'a'.repeat(40), reward: null, terminated: false })),
        ),
    }
    const own = { function: 'wants-c', applyChatTemplate: false, contextLength }
    const options = { teacher: 'short', config: { rewards: [], environment: own, steps: 1 } }
    const events: RunEvent[] = []
    const playing = collect(runOf(options, wordy), (event) => events.push(event))
    await expect(playing).rejects.toThrow('No completion of 1 step got a reward')
    const taught = {
      ...options,
      algorithm: distillation.configure({}),
      config: { ...options.config, reference: { model: 'short' } },
    }
    await expect(collect(runOf(taught, wordy))).rejects.toThrow(
      'No completion of 1 step has a token: every episode ended before the first. The model was not trained',
    )
    const warned = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
    expect(warned.join(' ')).toContain(words)
  })

  test.each([
    ['GRPO on turns', { settings: { advantageGranularity: 'turn' } }],
    [
      'REINFORCE',
      { algorithm: reinforce.configure({ klCoefficient: 0 }), rollout: { maxNewTokens: 1, groupSize: 8 } },
    ],
  ])('%s learns every turn', async (_, options) => {
    const events = await collect(runOf(options))
    const rewards = steps(events).map(({ metrics }) => metrics.reward ?? 0)
    expect(rewards[0]).toBeLessThan(1.5)
    expect(rewards.at(-1)).toBeGreaterThan(2.7)
    expect(evaluations(events).at(-1)!.metrics.eval_reward).toBe(3)
    expect(steps(events)[0]!.metrics).toMatchObject({
      'environment/turns': 3,
      'environment/done_ratio': 1,
      'environment/truncated_ratio': 0,
      'environment/context_limit_ratio': 0,
      'completions/mean_length': 3,
      'completions/clipped_ratio': 0,
    })
  })

  test('the same seed gives the same run', async () => {
    const [once, again, other] = [
      await collect(runOf()),
      await collect(runOf()),
      await collect(runOf({ config: { seed: 7 } })),
    ]
    expect(withoutTimings(once)).toEqual(withoutTimings(again))
    expect(withoutTimings(once)).not.toEqual(withoutTimings(other))
  })

  test('turns may be fewer than the environment suggests', async () => {
    const environment = { function: 'wants-c', applyChatTemplate: false, maxTurns: 2 }
    const events = await collect(runOf({ config: { environment, steps: 1 } }))
    expect(steps(events)[0]!.metrics).toMatchObject({
      'environment/turns': 2,
      'environment/done_ratio': 0,
      'environment/truncated_ratio': 1,
    })
  })

  test('PPO takes the critic’s value of the state in which a truncated episode was left', async () => {
    const settings = { klCoefficient: 0, whitenAdvantages: false, discount: 0.5 }
    const { algorithm, batches, minibatches } = watched(ppo.configure(settings))
    const critic = Float64Array.from({ length: 9 }, (_, id) => 0.1 * id)
    const environment = { function: 'wants-c', applyChatTemplate: false, maxTurns: 2 }
    const policy = fakePolicy({ critic })
    await collect(runOf({ algorithm, policy, config: { environment, steps: 1 } }))
    expect(batches[0]!.length).toBeGreaterThan(0)
    for (const { lastStateValue, behaviorValues, actionMask } of batches[0]!) {
      expect(lastStateValue).toBe(0.2) // of the letter b, which the environment said last
      actionMask.forEach((isAction, t) => expect(behaviorValues![t]! > 0).toBe(isAction === 1))
    }
    // The last turn's target: its reward, and half of what the rest is thought to be worth.
    for (const { returns, turnIds, turnRewards } of minibatches.flat())
      expect(returns![turnIds!.indexOf(1)]).toBeCloseTo(turnRewards[1]! + 0.5 * 0.2, 12)
    const whole = watched(ppo.configure(settings))
    await collect(runOf({ algorithm: whole.algorithm, policy: fakePolicy({ critic }), config: { steps: 1 } }))
    expect(whole.batches[0]!.map(({ lastStateValue }) => lastStateValue)).toEqual(
      whole.batches[0]!.map(() => null),
    )
  })

  test('so it does where a workflow plays it and says that a limit ended it', async () => {
    const settings = { klCoefficient: 0, whitenAdvantages: false, discount: 0.5, gaeLambda: 0.5 }
    const world = { function: 'wants-c', applyChatTemplate: false, maxTurns: 2 }
    const played = async (workflow: Workflow | null, environment = wantsC) => {
      const { algorithm, batches, minibatches } = watched(ppo.configure(settings))
      const config = { environment: world, steps: 1 }
      const policy = fakePolicy({ critic: Float64Array.from({ length: 9 }, (_, id) => 0.1 * id) })
      await collect(runOf({ algorithm, policy, workflow, config }, environment))
      expect(batches[0]!.length).toBeGreaterThan(0)
      return { batch: batches[0]!, rows: minibatches.flat() }
    }
    const [built, own] = [await played(null), await played(twoTurns(true))]
    expect(own.batch.map(({ lastStateValue }) => lastStateValue)).toEqual(own.batch.map(() => 0.2))
    expect(own.rows.map(({ advantages, returns }) => [advantages, returns])).toEqual(
      built.rows.map(({ advantages, returns }) => [advantages, returns]),
    )
    for (const { advantages, returns, behaviorValues, turnIds, turnRewards } of own.rows) {
      const [first, last] = [turnIds!.indexOf(0), turnIds!.indexOf(1)]
      const [V0, V1] = [behaviorValues![first]!, behaviorValues![last]!]
      // A_1 = δ_1 = r_1 + γ·V(b) − V_1; A_0 = δ_0 + γλ·A_1, with γ = λ = 0.5.
      const A1 = turnRewards[1]! + 0.5 * 0.2 - V1
      expect(advantages[last]).toBeCloseTo(A1, 12)
      expect(advantages[first]).toBeCloseTo(turnRewards[0]! + 0.5 * V1 - V0 + 0.25 * A1, 12)
      expect(returns![last]).toBeCloseTo(A1 + V1, 12)
    }
    // The environment itself ends it: what it said last counts, although the policy never reads it.
    const ending: Environment = {
      ...wantsC,
      step: async (actions) => {
        const turns = await wantsC.step(actions)
        return turns.map((turn) => ({ ...turn, truncated: 'state' in turn && turn.state === 2 }))
      },
    }
    const ended = await played(twoTurns(true), ending)
    expect(ended.batch.map(({ lastStateValue }) => lastStateValue)).toEqual(ended.batch.map(() => 0.2))
    // Terminated, as the workflow says, nothing follows.
    const terminated = await played(twoTurns(false))
    expect(terminated.batch.every(({ lastStateValue }) => lastStateValue === null)).toBe(true)
    for (const { returns, turnIds, turnRewards } of terminated.rows)
      expect(returns![turnIds!.indexOf(1)]).toBeCloseTo(turnRewards[1]!, 12)
  })

  test('episodes of a row may be as long as its settings say', async () => {
    const swept: Environment = { ...wantsC, turnsOf: ({ turns }) => Number(turns) }
    const { algorithm, batches } = watched(reinforce.configure({ klCoefficient: 0 }))
    const rows = {
      trainRows: [{ turns: 1 }, { turns: 2 }, { turns: 3 }, { turns: 2 }],
      heldOutRows: [{ turns: 3 }],
    }
    const events = await collect(runOf({ algorithm, ...rows, config: { steps: 1 } }, swept))
    expect(steps(events)[0]!.metrics).toMatchObject({
      'environment/turns': 2,
      'environment/done_ratio': 0.25,
    })
    const [batch] = batches
    expect(batch!.map(({ turnRewards }) => turnRewards.length).toSorted()).toEqual([1, 2, 2, 3])
    expect(new Set(batch!.map(({ tokenLimit }) => tokenLimit))).toEqual(new Set([3]))
    const environment = { function: 'wants-c', applyChatTemplate: false, maxTurns: 2 }
    const shorter = await collect(runOf({ ...rows, config: { environment, steps: 1 } }, swept))
    expect(steps(shorter)[0]!.metrics).toMatchObject({ 'environment/turns': 1.75 })
  })

  test('a row whose settings cannot be is named before anything is generated', async () => {
    const strict: Environment = {
      ...wantsC,
      turnsOf({ turns }) {
        if (typeof turns === 'number') return turns
        throw new AppError('config/invalid', 'no turns')
      },
    }
    const policy = fakePolicy()
    const rows = { trainRows: [{ turns: 1 }, { turns: 'x' }], heldOutRows: [] }
    await expect(collect(runOf({ policy, ...rows }, strict))).rejects.toThrow('Row 2: no turns')
    expect(policy.calls).toEqual({})
  })

  test('a context without room for a prompt is refused', async () => {
    const environment = { function: 'wants-c', applyChatTemplate: false, contextLength: 2 }
    const options = { config: { environment }, rollout: { maxNewTokens: 5 } }
    await expect(collect(runOf(options))).rejects.toThrow('leaves no room for a prompt')
  })

  test('an environment that fails is told once a step, and its episodes are left out', async () => {
    const broken: Environment = {
      ...wantsC,
      step: (actions) => Promise.resolve(actions.map(() => ({ failure: { message: 'It is closed.' } }))),
    }
    const events: RunEvent[] = []
    const failing = collect(runOf({ config: { steps: 1 } }, broken), (event) => events.push(event))
    await expect(failing).rejects.toMatchObject({ code: 'reward/none' })
    const warnings = events.filter((event) => event.type === 'warning')
    expect(warnings[0]!.message).toContain('The environment failed on 32 of 32')
    expect(steps(events)[0]!.metrics).toMatchObject({ 'reward/failures': 32, 'reward/unscored': 32 })
  })
})

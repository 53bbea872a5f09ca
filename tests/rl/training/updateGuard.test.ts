/** Updates whose numbers cannot be right: planted in a policy that computes wrongly, in rewards and in settings. */
import { describe, expect, test } from 'vitest'
import { algorithms } from '#rl/algorithms/registry.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import { rloo } from '#rl/algorithms/rloo.ts'
import type { Environment } from '#rl/rollout/environment.ts'
import { eachSample, type RewardSpec } from '#rl/rewards.ts'
import type { RunEvent, TrainerState } from '#shared/events.ts'
import { type FakeOptions, fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf, likesC, type RunOptions, steps, withoutTimings } from './run.ts'

/** The fake policy's optimizer has no moments: what is long moves it far. */
const clipped = { optimization: { maxGradNorm: 1 } }
const skip = { optimization: { unsoundUpdates: 'skip' } }

/** From the micro-batch `from` to `to`, of which a step has one, gradients are wrong by a factor. */
const wrong = (factor: number, from = 1, to = Infinity): FakeOptions => ({
  fault: (microBatch) => (microBatch >= from && microBatch <= to ? factor : 1),
})

async function outcomeOf(policy: ReturnType<typeof fakePolicy>, options: RunOptions = {}) {
  const events: RunEvent[] = []
  const error = await collect(dependenciesOf({ policy, ...options }), (event) => events.push(event)).then(
    () => null,
    (reason: unknown) => reason as Error & { code: string; hint: string; command: string },
  )
  return { events, error, warnings: events.filter(({ type }) => type === 'warning') }
}

const rewarding = (size: number): RewardSpec[] => [
  {
    ...likesC,
    function: {
      ...likesC.function,
      score: eachSample(({ completion }) => size * completion.split('c').length),
    },
  },
]

describe('a gradient that cannot be right', () => {
  test('of a device that computes noise is refused in the first step, and the adapter is as it was', async () => {
    const policy = fakePolicy(wrong(1e16))
    const { error } = await outcomeOf(policy)
    expect(error).toMatchObject({ code: 'run/unsound' })
    expect(error?.message).toMatch(
      /^In step 1 the gradient norm became \d\.\de\+15, more than any f32 computation gives for such a loss; the update was not applied\.$/,
    )
    expect(error?.hint).toContain('The adapter is unchanged, and earlier checkpoints are intact.')
    expect(error?.command).toContain('turnwise selftest --device cpu')
    expect(policy.calls.update).toBeUndefined()
    expect([...policy.table]).toEqual([...fakePolicy().table])
  })

  test('of a graphics card is answered with its self-test and the way back to the CPU', async () => {
    const { error } = await outcomeOf(fakePolicy(wrong(1e16)), { device: 'webgpu' })
    expect(error?.command).toContain('`turnwise selftest --device webgpu`')
    expect(error?.hint).toContain('fork from the last checkpoint with device.kind set to cpu')
  })

  test('is one millions of times as long as those before it', async () => {
    const policy = fakePolicy(wrong(1e9, 4))
    const { error, events } = await outcomeOf(policy)
    expect(error).toMatchObject({ code: 'run/unsound' })
    expect(error?.message).toMatch(
      /^In step 4 the gradient norm became \d\.\de\+\d, but 0\.\d+ is usual in this run for such a loss;/,
    )
    expect(steps(events)).toHaveLength(3)
    expect(policy.calls.update).toBe(3)
  })

  test.each([NaN, Infinity, 1e300])(
    'is one that becomes %s, whatever else the config says',
    async (factor) => {
      const policy = fakePolicy(wrong(factor, 2))
      const { error } = await outcomeOf(policy, clipped)
      expect(error?.message).toMatch(/^In step 2 the gradient/)
      expect(error?.code).toBe(Number.isFinite(factor) ? 'run/unsound' : 'run/diverged')
      expect(policy.calls.update).toBe(1)
      expect(policy.table.every(Number.isFinite)).toBe(true)
    },
  )

  test('is one whose square f32 cannot hold, unless it is clipped', async () => {
    const options = { algorithm: rloo.configure({ klCoefficient: 0 }), rewards: rewarding(1e30) }
    const { error } = await outcomeOf(fakePolicy(), options)
    expect(error).toMatchObject({ code: 'run/diverged' })
    expect(error?.message).toMatch(/the gradient norm became \d\.\de\+\d\d, whose square f32 cannot hold/)
    expect(error?.hint).toContain('optimization.maxGradNorm')
    expect((await outcomeOf(fakePolicy(), { ...options, ...clipped })).error).toBeNull()
  })

  test('of the critic alone is enough', async () => {
    const policy = fakePolicy()
    const norms = policy.gradientNorms.bind(policy)
    const broken = Object.assign(policy, {
      gradientNorms: async () => ({ ...(await norms()), critic: 1e18 }),
    })
    const { error } = await outcomeOf(broken, { algorithm: ppo.configure({}) })
    expect(error?.message).toMatch(/^In step 1 the critic’s gradient norm became 1\.0e\+18/)
    expect(policy.calls.update).toBeUndefined()
  })

  test.each([...algorithms.values()])('$id: neither NaN nor noise moves anything', async (definition) => {
    const start = fakePolicy()
    for (const factor of [NaN, 1e18]) {
      // A reference of its own: a teacher who agrees teaches nothing.
      const policy = fakePolicy({ ...wrong(factor), reference: start.table.map((_, k) => Math.sin(k)) })
      const { error } = await outcomeOf(policy, {
        algorithm: definition.configure({}),
        config: { environment: null },
      })
      expect(error?.code).toMatch(/^run\/(diverged|unsound)$/)
      expect([...policy.table, ...policy.critic]).toEqual([...start.table, ...start.critic])
    }
  })
})

describe('what is unusual and right goes on', () => {
  test.each([1e-12, 1e6, 1e15])('rewards of %s', async (size) => {
    const algorithm = rloo.configure({ klCoefficient: 0 })
    const { error } = await outcomeOf(fakePolicy(), { algorithm, rewards: rewarding(size), ...clipped })
    expect(error).toBeNull()
  })

  test('rewards that grow a billionfold within the run', async () => {
    let calls = 0
    const growing = rewarding(1).map((spec) => ({
      ...spec,
      function: {
        ...spec.function,
        score: eachSample(({ completion }) => 10 ** (calls++ / 14) * completion.length),
      },
    }))
    const algorithm = rloo.configure({ klCoefficient: 0 })
    const { error, events } = await outcomeOf(fakePolicy(), {
      algorithm,
      rewards: growing,
      heldOutRows: [],
      ...clipped,
      config: { steps: 8 },
    })
    expect(error).toBeNull()
    expect(steps(events).at(-1)!.metrics.reward).toBeGreaterThan(1e9)
  })

  test.each([
    ['a temperature of 0.001', 1e6, { rollout: { temperature: 1e-3 } }],
    ['an adapter scaled by a million', 1e10, { config: { adapter: { rank: 1, alpha: 1e6 } } }],
  ])('%s', async (_, factor, options) => {
    const learningRatesAt = () => ({ actor: 1e-6, critic: 1e-6 })
    const policy = fakePolicy(wrong(factor, 3))
    const { error } = await outcomeOf(policy, { ...options, ...clipped, learningRatesAt })
    expect(error).toBeNull()
    expect(policy.calls.update).toBe(6)
  })

  test('groups that taught nothing before one that does', async () => {
    let asked = 0
    const late = rewarding(1).map((spec) => ({
      ...spec,
      function: {
        ...spec.function,
        score: eachSample(({ completion }) => (asked++ < 64 ? 0 : completion.length)),
      },
    }))
    const { error, events } = await outcomeOf(fakePolicy(), { rewards: late, heldOutRows: [] })
    expect(error).toBeNull()
    expect(steps(events)[0]!.metrics.grad_norm ?? 0).toBe(0)
  })
})

describe('the gap between sampler and learner', () => {
  const server = { kind: 'vllm', url: 'http://127.0.0.1:8000', adapterFolder: '/adapters' }

  test.each([
    ['in f32', 0.06, {}, false],
    ['in f32, small', 0.04, {}, true],
    ['with 8-bit rollouts', 0.25, { rollout: { precision: 'int8' } }, true],
    ['with 8-bit rollouts, wide', 0.6, { rollout: { precision: 'int8' } }, false],
    ['on a rounded base', 0.25, { config: { base: { precision: 'int4' } } }, true],
    ['at a low temperature, which widens it', 0.4, { rollout: { temperature: 0.1 } }, true],
    ['at a high temperature', 0.06, { rollout: { temperature: 2 } }, false],
    ['with dropout, which the sampler has not', 3, { config: { adapter: { dropout: 0.1 } } }, true],
    ['on a server, which has a limit of its own', 3, { rollout: { server } }, true],
    ['that is no number', NaN, {}, false],
  ] as const)('%s: %d nats', async (_, samplerGap, options, goesOn) => {
    const policy = fakePolicy({ samplerGap })
    const { error } = await outcomeOf(policy, options)
    expect(error?.code).toBe(goesOn ? undefined : 'run/unsound')
    expect(policy.calls.update).toBe(goesOn ? 6 : undefined)
    if (error !== null)
      expect(error.message).toMatch(/^In step 1 sampler and learner disagreed by [\d.]+ nats per token/)
  })
})

describe('NaN in a reward', () => {
  test.each([NaN, Infinity])('%s is a failure of the function, left out of the update', async (bad) => {
    let asked = 0
    const rewards = rewarding(1).map((spec) => ({
      ...spec,
      function: {
        ...spec.function,
        score: eachSample(({ completion }) => (asked++ % 3 === 0 ? bad : completion.length)),
      },
    }))
    const policy = fakePolicy()
    const { error, events, warnings } = await outcomeOf(policy, { rewards })
    expect(error).toBeNull()
    expect(steps(events)[0]!.metrics['reward/failures']).toBe(11)
    expect(warnings[0]).toMatchObject({
      message: expect.stringContaining('Expected a finite number') as string,
    })
    expect(policy.table.every(Number.isFinite)).toBe(true)
    expect(policy.calls.update).toBe(6)
  })

  test('of an environment’s turn ends that episode', async () => {
    const environment: Environment = {
      id: 'broken',
      description: 'For tests.',
      maxTurns: 2,
      reset: (starts) =>
        Promise.resolve(starts.map(() => ({ state: 0, observation: 'a', reward: null, terminated: false }))),
      step: (actions) =>
        Promise.resolve(
          actions.map(({ state }) => ({ state, observation: 'b', reward: NaN, terminated: false })),
        ),
    }
    const policy = fakePolicy()
    const { error, warnings } = await outcomeOf(policy, {
      environment,
      rewards: [],
      trainRows: [{}, {}],
      heldOutRows: [],
      rollout: { maxNewTokens: 1 },
      config: { rewards: [], environment: { function: 'broken', applyChatTemplate: false } },
    })
    expect(error).toMatchObject({ code: 'reward/none' })
    expect(warnings.length).toBeGreaterThan(0)
    expect(policy.table.every(Number.isFinite)).toBe(true)
  })

  test('that reaches the loss ends the run before the update', async () => {
    const algorithm = rloo.configure({ klCoefficient: 0 })
    const poisoned = {
      ...algorithm,
      advantages: (batch: Parameters<typeof algorithm.advantages>[0]) => {
        const advantages = algorithm.advantages(batch)
        advantages.tokens[0]?.fill(NaN)
        return advantages
      },
    }
    const policy = fakePolicy()
    const { error } = await outcomeOf(policy, { algorithm: poisoned })
    expect(error?.message).toBe('In step 1 the loss became NaN; the update was not applied.')
    expect(policy.calls.update).toBeUndefined()
    expect(policy.calls.discardGradients).toBe(1)
  })
})

describe('with unsoundUpdates: skip', () => {
  test('an update is left out, told and counted; the schedule goes on', async () => {
    const policy = fakePolicy(wrong(NaN, 3, 3))
    const asked: number[] = []
    const { error, events, warnings } = await outcomeOf(policy, {
      ...skip,
      learningRatesAt: (update) => {
        asked.push(update)
        return { actor: 8, critic: 1 }
      },
    })
    expect(error).toBeNull()
    expect(warnings).toMatchObject([
      {
        step: 3,
        message:
          'The update of step 3 was skipped, and the adapter left unchanged: the gradient became infinite or not a number.',
      },
    ])
    expect(steps(events).map(({ metrics }) => metrics['update/skipped'])).toEqual(
      [0, 0, 1, 0, 0, 0].map((count) => (count === 0 ? undefined : count)),
    )
    expect(steps(events)[2]!.metrics).not.toHaveProperty('loss')
    expect(steps(events)[2]!.metrics).toMatchObject({ 'update/count': 0 })
    expect(asked).toEqual([0, 1, 3, 4, 5])
    expect(policy.calls.update).toBe(5)
    expect(events.at(-2)).toMatchObject({ state: { updates: 6, updateHistory: { skipped: 0 } } })
  })

  test('of several updates of a step only the wrong one', async () => {
    const policy = fakePolicy(wrong(1e16, 2, 2))
    const { events, warnings } = await outcomeOf(policy, {
      optimization: { ...skip.optimization, minibatchSize: 8 },
    })
    expect(steps(events)[0]!.metrics).toMatchObject({ 'update/count': 3, 'update/skipped': 1 })
    expect(steps(events)[0]!.metrics.grad_norm).toBeLessThan(10)
    expect(warnings).toMatchObject([
      { message: expect.stringMatching(/^1 of 4 updates of step 1 was skipped/) as string },
    ])
  })

  test('ten in a row end the run', async () => {
    const { error, events } = await outcomeOf(fakePolicy(wrong(1e16, 3)), {
      ...skip,
      config: { steps: 20 },
    })
    expect(error?.message).toMatch(/; the update was not applied, nor were the 9 before it\.$/)
    expect(steps(events)).toHaveLength(11)
  })

  test('a resume knows what came before: the same updates are refused', async () => {
    const options = { ...skip, config: { checkpoints: { every: 1 }, steps: 8 } }
    const whole = fakePolicy(wrong(1e8, 4, 5))
    const kept: { readonly state: TrainerState; readonly table: Float64Array; readonly at: number }[] = []
    const events: RunEvent[] = []
    await collect(dependenciesOf({ policy: whole, ...options }), (event) => {
      events.push(event)
      if (event.type === 'checkpoint-due' && event.reason === 'interval')
        kept.push({ state: event.state, table: whole.table.slice(), at: events.length })
    })
    expect(steps(events).flatMap(({ step, metrics }) => (metrics['update/skipped'] ? [step] : []))).toEqual([
      4, 5,
    ])
    expect(kept).toHaveLength(7)
    for (const { state, table, at } of kept) {
      const done = state.step
      const policy = fakePolicy({ table, reference: new Float64Array(81), ...wrong(1e8, 4 - done, 5 - done) })
      const rest = await collect(
        dependenciesOf({ policy, ...options, state: JSON.parse(JSON.stringify(state)) as TrainerState }),
      )
      expect(withoutTimings(rest.slice(1))).toEqual(withoutTimings(events.slice(at)))
      expect([...policy.table]).toEqual([...whole.table])
    }
  })
})

/** Rollouts that run while the policy learns: whose they are, and that nothing depends on how long they take. */
import { describe, expect, test } from 'vitest'
import { initialState } from '#rl/training/plan.ts'
import { fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf, steps, withoutTimings } from './run.ts'

const server = { kind: 'vllm', url: 'http://127.0.0.1:8000', adapterFolder: '/adapters' }
const shown = { shownTrajectories: 1000 }

function aheadBy(maxStaleness: number, snapshotDelay: (snapshot: number) => number = () => 0) {
  const policy = fakePolicy({ snapshotDelay })
  const rollout = { server, maxStaleness }
  return { policy, dependencies: dependenciesOf({ policy, rollout, config: shown }) }
}

const valuesOf = (events: Awaited<ReturnType<typeof collect>>, metric: string) =>
  steps(events).map(({ metrics }) => (metrics as Record<string, number | undefined>)[metric])

describe('rollouts ahead of learning', () => {
  test.each([
    [1, [0, 1, 1, 1, 1, 1]],
    [3, [0, 1, 2, 3, 3, 3]],
    [9, [0, 1, 2, 3, 4, 5]],
  ])('up to %i steps old: the staleness is the difference of versions', async (limit, expected) => {
    const { policy, dependencies } = aheadBy(limit)
    const events = await collect(dependencies)
    expect(valuesOf(events, 'rollout/staleness')).toEqual(expected)
    for (const event of events) {
      if (event.type !== 'samples' || event.source !== 'rollout') continue
      const { step } = event
      const made = event.samples.map(({ version = step - 1 }) => step - 1 - version)
      expect(new Set(made)).toEqual(new Set([expected[step - 1]]))
    }
    // As many rollouts as steps: none is begun in vain.
    expect(policy.calls).toMatchObject({ snapshot: 6, 'snapshot disposed': 6 })
  })

  test('the first steps are those of a run that takes turns, prompts and random numbers are the same throughout', async () => {
    const turns = await collect(dependenciesOf({ rollout: { server }, config: shown }))
    const ahead = await collect(aheadBy(2).dependencies)
    const samples = (events: typeof turns) =>
      events.flatMap((event) =>
        event.type === 'samples' && event.source === 'rollout' ? [event.samples] : [],
      )
    const textsOf = (events: typeof turns, step: number) =>
      samples(events)[step - 1]!.map(({ prompt, completion }) => [prompt, completion])
    expect(textsOf(ahead, 1)).toEqual(textsOf(turns, 1))
    // The second step's come from the same parameters as the first's.
    expect(textsOf(ahead, 2)).not.toEqual(textsOf(turns, 2))
    const prompts = (events: typeof turns) => samples(events).map((all) => all.map(({ prompt }) => prompt))
    expect(prompts(ahead)).toEqual(prompts(turns))
    expect(steps(ahead).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('nothing depends on how long generating takes', async () => {
    const [quick, slow] = [aheadBy(2), aheadBy(2, (snapshot) => (snapshot % 3) * 15)]
    const [expected, found] = [await collect(quick.dependencies), await collect(slow.dependencies)]
    expect(withoutTimings(found)).toEqual(withoutTimings(expected))
    expect(slow.policy.table).toEqual(quick.policy.table)
  })

  test('weights correct for the older policy, measured from the one that learns', async () => {
    const events = await collect(aheadBy(1).dependencies)
    const [first, ...later] = valuesOf(events, 'sampling/sampling_logp_difference/mean')
    expect(first).toBeCloseTo(0, 12)
    for (const difference of later) expect(difference).toBeGreaterThan(0.001)
    const [, second] = events.flatMap((event) =>
      event.type === 'samples' && event.source === 'rollout' ? [event] : [],
    )
    expect(second?.step).toBe(2)
    const capped = valuesOf(events, 'sampling/importance_sampling_ratio/p95')
    expect(Math.max(...capped.map((value) => value ?? 0))).toBeLessThanOrEqual(2)
  })

  test('a record with gaps counts as none', async () => {
    const policy = fakePolicy({ samplerGap: NaN, snapshotDelay: () => 0 })
    const rollout = { server, maxStaleness: 1 }
    const events = await collect(dependenciesOf({ policy, rollout }))
    for (const skipped of valuesOf(events, 'sampling/rows_skipped')) expect(skipped).toBeGreaterThan(0)
    expect(valuesOf(events, 'sampling/importance_sampling_ratio/mean')).toEqual(Array(6).fill(undefined))
  })

  test('it learns as well', async () => {
    const policy = fakePolicy({ snapshotDelay: () => 0 })
    const dependencies = dependenciesOf({
      policy,
      rollout: { server, maxStaleness: 2 },
      config: { steps: 40 },
    })
    const rewards = valuesOf(await collect(dependencies), 'reward').map((reward) => reward ?? 0)
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    expect(mean(rewards.slice(0, 3))).toBeLessThan(0.2)
    expect(mean(rewards.slice(-5))).toBeGreaterThan(0.6)
  })

  test('a run that is taken up begins anew with what it has, and no step is lost or twice', async () => {
    const { dependencies } = aheadBy(2)
    const control = new AbortController()
    const events = await collect(
      { ...dependencies, schedule: { ...dependencies.schedule, signal: control.signal } },
      (event) => {
        if (event.type === 'step' && event.step === 3) control.abort()
      },
    )
    const saved = events.findLast((event) => event.type === 'checkpoint-due')
    expect(saved).toMatchObject({ step: 3, state: { step: 3, promptsDrawn: 12 } })
    if (saved?.type !== 'checkpoint-due') throw new Error('Expected a checkpoint.')
    const rest = await collect({
      ...dependencies,
      schedule: { ...dependencies.schedule, state: saved.state },
    })
    expect(steps(rest).map(({ step }) => step)).toEqual([4, 5, 6])
    expect(valuesOf(rest, 'rollout/staleness')).toEqual([0, 1, 2])
  })

  test('what is under way is given up when the run stops or fails', async () => {
    const { policy, dependencies } = aheadBy(2, (snapshot) => (snapshot > 3 ? 60_000 : 0))
    const control = new AbortController()
    await collect(
      { ...dependencies, schedule: { ...dependencies.schedule, signal: control.signal } },
      (event) => {
        if (event.type === 'step' && event.step === 2) control.abort()
      },
    )
    expect(policy.calls['snapshot disposed']).toBe(policy.calls['snapshot'])
  })

  test('a failure ends the run at the step that needs what failed', async () => {
    const { dependencies } = aheadBy(1)
    const failing = {
      ...dependencies,
      config: { ...dependencies.config, rewardFailures: 'fail' as const },
      code: {
        ...dependencies.code,
        rewards: dependencies.code.rewards.map((spec) => ({
          ...spec,
          function: { ...spec.function, score: () => Promise.reject(new Error('Out of order.')) },
        })),
      },
    }
    await expect(collect(failing)).rejects.toThrow('Out of order.')
  })

  test('a policy that cannot do both at once is refused', async () => {
    const dependencies = dependenciesOf({ rollout: { server, maxStaleness: 1 } })
    await expect(collect(dependencies)).rejects.toMatchObject({
      code: 'config/invalid',
      message: expect.stringContaining('rollout.maxStaleness') as string,
    })
    await expect(
      collect({ ...dependencies, schedule: { ...dependencies.schedule, state: initialState } }),
    ).rejects.toThrow('cannot generate while it')
  })
})

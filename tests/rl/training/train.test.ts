import { describe, expect, test } from 'vitest'
import { algorithms } from '#rl/algorithms/registry.ts'
import { rloo } from '#rl/algorithms/rloo.ts'
import { eachSample } from '#rl/rewards.ts'
import type { RunEvent, StepPhase, TrainerState } from '#shared/events.ts'
import { declarationOf, type MetricName } from '#shared/metrics.ts'
import { train } from '#rl/training/train.ts'
import { fakePolicy, fakeTokenizer } from '../fakePolicy.ts'
import { collect, dependenciesOf, evaluations, likesC, steps, withoutTimings } from './run.ts'

/** The token that is rewarded, and the number of all. */
const [c, size] = [3, 9]

describe('learning', () => {
  test.each(algorithms.map(({ id }) => id))('%s raises the reward on rows it never saw', async (id) => {
    const algorithm = algorithms.find((candidate) => candidate.id === id)!.configure({})
    const policy = fakePolicy()
    if (algorithm.needs.teacher)
      for (let i = c; i < policy.reference.length; i += size) policy.reference[i] = 4
    const events = await collect(dependenciesOf({ algorithm, policy, config: { steps: 60 } }))
    const [before, after] = [evaluations(events)[0]!, evaluations(events).at(-1)!]
    expect(before.metrics.eval_reward).toBe(0)
    expect(after.metrics.eval_reward).toBeGreaterThan(0.8)
    if (algorithm.experience !== 'rollout') return
    expect(steps(events).at(-1)!.metrics.reward).toBeGreaterThan(steps(events)[0]!.metrics.reward! + 0.4)
  })

  test('several updates per rollout learn too, with and without reference', async () => {
    const optimization = { epochs: 2, minibatchSize: 8 }
    const events = await collect(
      dependenciesOf({ optimization, settings: { klCoefficient: 0.01 }, config: { steps: 12 } }),
    )
    expect(evaluations(events).at(-1)!.metrics.eval_reward).toBeGreaterThan(0.8)
    expect(steps(events)[0]!.metrics['update/count']).toBe(8)
    expect(steps(events).at(-1)!.metrics.kl).toBeGreaterThan(0)
  })

  test('every reported metric is declared', async () => {
    const events = await collect(dependenciesOf({ settings: { klCoefficient: 0.1 } }))
    const names = events.flatMap((event) => ('metrics' in event ? Object.keys(event.metrics) : []))
    expect(names).toContain('rewards/c/mean')
    for (const name of new Set(names)) expect(declarationOf(name as MetricName).explanation).not.toBe('')
  })
})

test('a mixture of experts has its balance in every step, that of all micro-batches together', async () => {
  const policy = fakePolicy()
  const accumulate = policy.accumulate.bind(policy)
  let batches = 0
  policy.accumulate = (sequences, options, coefficients) => {
    // One expert alone, now the first and now the second of two.
    const first = batches++ % 2
    const use = [Float64Array.of(1 - first, first), Float64Array.of(1 - first, first)] as const
    const routers = { decisions: 1, chosen: use[0], shares: use[1] }
    return accumulate(sequences, options, (heads) =>
      coefficients(heads.map((head) => ({ ...head, routers }))),
    )
  }
  const optimization = { tokenBudget: 20 }
  const [step] = steps(await collect(dependenciesOf({ policy, optimization, config: { steps: 1 } })))
  expect(batches % 2).toBe(0)
  expect(batches).toBeGreaterThan(2)
  expect(step!.metrics.aux_loss).toBeCloseTo(1, 1)
  const [plain] = steps(await collect(dependenciesOf({ config: { steps: 1 } })))
  expect(plain!.metrics).not.toHaveProperty('aux_loss')
})

describe('forward passes', () => {
  test('one update per rollout needs no scoring pass', async () => {
    const policy = fakePolicy()
    await collect(dependenciesOf({ policy, config: { steps: 3 } }))
    expect(policy.calls).toEqual({ greedy: 2, generate: 3, accumulate: 3, update: 3 })
  })

  test('several updates need the behaviour policy, a divergence the reference', async () => {
    const policy = fakePolicy()
    const optimization = { minibatchSize: 16 }
    await collect(
      dependenciesOf({ policy, optimization, settings: { klCoefficient: 1 }, config: { steps: 2 } }),
    )
    expect(policy.calls).toMatchObject({ 'score actor': 2, 'score reference': 2, accumulate: 4, update: 4 })
  })

  test('how a minibatch is cut into micro-batches does not change what is learned', async () => {
    const [whole, cut] = [fakePolicy(), fakePolicy()]
    await collect(dependenciesOf({ policy: whole }))
    await collect(dependenciesOf({ policy: cut, optimization: { tokenBudget: 20 } }))
    expect(cut.calls.accumulate).toBeGreaterThan(whole.calls.accumulate! * 3)
    expect(Math.max(...cut.table.map((value, i) => Math.abs(value - whole.table[i]!)))).toBeLessThan(1e-9)
  })
})

describe('trajectories with zero advantage', () => {
  /** Zero variance in every group whose prompt is "a". */
  const rewards = [
    {
      ...likesC,
      function: {
        ...likesC.function,
        score: eachSample((sample) => (sample.prompt === 'a' ? 1 : sample.completion.length / 6)),
      },
    },
  ]
  const trained = async (zeroAdvantages: string, settings: Record<string, unknown> = {}) => {
    const policy = fakePolicy()
    const learned: number[] = []
    const accumulate = policy.accumulate.bind(policy)
    policy.accumulate = (sequences, ...rest) => {
      learned.push(sequences.filter(({ ids }) => fakeTokenizer.decode(ids.subarray(0, 1)) === 'a').length)
      return accumulate(sequences, ...rest)
    }
    const config = { steps: 4, shownTrajectories: 0 }
    const rollout = { promptsPerStep: 7 }
    await collect(
      dependenciesOf({ policy, rewards, config, rollout, settings, optimization: { zeroAdvantages } }),
    )
    return { table: policy.table, silent: learned.reduce((sum, count) => sum + count, 0) }
  }

  test('are not computed, and the policy becomes the same', async () => {
    const [skipping, measuring] = [await trained('skip'), await trained('measure')]
    expect(measuring.silent).toBe(4 * 8)
    expect(skipping.silent).toBe(0)
    expect(Math.max(...measuring.table.map((value, i) => Math.abs(value - skipping.table[i]!)))).toBeLessThan(
      1e-9,
    )
  })

  test('are computed where the loss has another term', async () => {
    for (const settings of [{ klCoefficient: 0.1 }, { entropyCoefficient: 0.01 }]) {
      expect((await trained('skip', settings)).silent).toBe(4 * 8)
    }
  })
})

describe('the config reaches the policy', () => {
  test('every update has its own place in the schedule; the step reports the last rate', async () => {
    const policy = fakePolicy()
    const learningRatesAt = (update: number, updates: number) => ({ actor: update / updates, critic: 0 })
    const optimization = { epochs: 2, minibatchSize: 16, maxGradNorm: 0.5 }
    const events = await collect(
      dependenciesOf({ policy, learningRatesAt, optimization, config: { steps: 3 } }),
    )
    expect(policy.updates).toEqual(
      Array.from({ length: 12 }, (_, update) => ({
        learningRates: { actor: update / 12, critic: 0 },
        maxGradNorm: 0.5,
      })),
    )
    expect(steps(events).map(({ metrics }) => metrics.learning_rate)).toEqual([3 / 12, 7 / 12, 11 / 12])
  })

  test('sampling, scoring and learning share one temperature', async () => {
    const policy = fakePolicy()
    const optimization = { minibatchSize: 16 }
    const rollout = { temperature: 0.7 }
    const settings = { klCoefficient: 0.1 }
    const events = await collect(
      dependenciesOf({ policy, optimization, rollout, settings, config: { steps: 1 } }),
    )
    expect(policy.temperatures).toEqual([0.7, 0.7, 0.7, 0.7, 0.7])
    expect(steps(events)[0]!.metrics['sampling/sampling_logp_difference/max']).toBeLessThan(1e-12)
  })

  test('later updates of a step are measured against the policy that generated it', async () => {
    const events = await collect(dependenciesOf({ optimization: { epochs: 3 }, config: { steps: 2 } }))
    expect(steps(events)[0]!.metrics['clip_ratio/region_mean']).toBeGreaterThan(0)
    const single = await collect(dependenciesOf({ config: { steps: 2 } }))
    expect(steps(single)[0]!.metrics['clip_ratio/region_mean']).toBe(0)
  })
})

describe('resume', () => {
  test('a run resumed from any checkpoint says and learns the same as one never stopped', async () => {
    const options = {
      optimization: { epochs: 2, minibatchSize: 8 },
      config: { steps: 6, checkpoints: { every: 2 } },
    }
    const uninterrupted = fakePolicy()
    const kept: { state: TrainerState; table: Float64Array; position: number }[] = []
    let position = 0
    const all = await collect(dependenciesOf({ ...options, policy: uninterrupted }), (event) => {
      position++
      if (event.type !== 'checkpoint-due') return
      kept.push({ state: structuredClone(event.state), table: uninterrupted.table.slice(), position })
    })
    expect(kept.map(({ state }) => state.step)).toEqual([2, 4, 6])
    for (const { state, table, position: at } of kept) {
      const policy = fakePolicy({ table })
      const resumed = await collect(dependenciesOf({ ...options, policy, state }))
      const expected = all.slice(state.step === 6 ? at - 1 : at)
      expect(withoutTimings(resumed.slice(1))).toEqual(withoutTimings(expected))
      expect(resumed[0]).toMatchObject({ type: 'status', phase: 'training', step: state.step })
      expect(policy.table).toEqual(uninterrupted.table)
    }
  })

  test('says what it is at: every step generates, scores and learns, checkpoints follow evaluations', async () => {
    const phases: StepPhase[] = []
    const stop = new AbortController()
    await collect(
      dependenciesOf({ signal: stop.signal, onPhase: (phase) => phases.push(phase) }),
      (event) => {
        if (event.type === 'step' && event.step === 2) stop.abort()
      },
    )
    const distinct = phases.filter((phase, i) => phase !== phases[i - 1] && phase !== 'evaluating')
    const step = ['generating', 'scoring', 'learning']
    expect(distinct.slice(0, 3)).toEqual(step)
    expect(distinct.filter((phase) => phase === 'learning')).toHaveLength(2)
    expect(distinct.at(-1)).toBe('saving')
  })

  test('a stop ends the run after the current step with a checkpoint', async () => {
    const stop = new AbortController()
    const events = await collect(dependenciesOf({ signal: stop.signal }), (event) => {
      if (event.type === 'step' && event.step === 2) stop.abort()
    })
    expect(steps(events)).toHaveLength(2)
    expect(events.slice(-2)).toMatchObject([
      { type: 'checkpoint-due', reason: 'stopped', state: { step: 2, promptsDrawn: 8, updates: 2 } },
      { type: 'status', phase: 'stopped', step: 2, steps: 6 },
    ])
  })
})

describe('the gap between sampler and learner', () => {
  const gap = 0.04

  test('is measured in every step', async () => {
    const events = await collect(dependenciesOf({ policy: fakePolicy({ samplerGap: gap }) }))
    for (const { metrics } of steps(events)) {
      expect(metrics['sampling/sampling_logp_difference/mean']).toBeCloseTo(gap, 12)
      expect(metrics['sampling/sampling_logp_difference/max']).toBeCloseTo(gap, 12)
      expect(metrics['sampling/importance_sampling_ratio/mean']).toBeCloseTo(Math.exp(-gap), 12)
    }
    const honest = await collect(dependenciesOf({ config: { steps: 2 } }))
    expect(steps(honest)[0]!.metrics['sampling/sampling_logp_difference/max']).toBe(0)
  })

  test.each([
    ['rollouts are', { precision: 'int8' }, {}],
    ['the base is', {}, { base: { precision: 'int4' } }],
  ] as const)(
    'is corrected when %s rounded: every policy term weighs as much less',
    async (_, rollout, changes) => {
      const learned = async (ownRollout: Record<string, unknown>, config: Record<string, unknown>) => {
        const policy = fakePolicy({ samplerGap: gap })
        await collect(dependenciesOf({ policy, rollout: ownRollout, config: { steps: 1, ...config } }))
        return policy.table
      }
      const [plain, corrected] = [await learned({}, {}), await learned(rollout, changes)]
      const largest = plain.reduce(
        (best, value, i) => (Math.abs(value) > Math.abs(plain[best]!) ? i : best),
        0,
      )
      expect(corrected[largest]! / plain[largest]!).toBeCloseTo(Math.exp(-gap), 9)
    },
  )
})

describe('what goes wrong', () => {
  test('a loss that is not finite ends the run and forgets the gradients', async () => {
    const policy = fakePolicy({ table: new Float64Array(81).fill(Number.NaN) })
    await expect(collect(dependenciesOf({ policy }))).rejects.toMatchObject({ code: 'run/diverged' })
    expect(policy.calls.discardGradients).toBe(1)
  })

  test('coefficients that f32 cannot hold end the run before anything is learned from them', async () => {
    const huge = { ...likesC.function, score: eachSample(({ completion }) => 1e60 * completion.length) }
    const policy = fakePolicy()
    const run = collect(
      dependenciesOf({ policy, algorithm: rloo.configure({}), rewards: [{ ...likesC, function: huge }] }),
    )
    await expect(run).rejects.toMatchObject({
      code: 'run/diverged',
      message: expect.stringMatching(
        /^In step 1 a loss coefficient became -?[\d.]+e\+\d+, more than f32 can hold; the update was not/,
      ) as string,
    })
    expect(policy.calls.update).toBeUndefined()
    expect(policy.calls.discardGradients).toBe(1)
  })

  test('a step that teaches nothing is a warning, not an update', async () => {
    const rewards = [{ ...likesC, function: { ...likesC.function, score: eachSample(() => 1) } }]
    const policy = fakePolicy()
    const events = await collect(
      dependenciesOf({ policy, rewards, settings: { filterZeroAdvantages: true } }),
    )
    expect(policy.calls.update).toBeUndefined()
    expect(events.filter(({ type }) => type === 'warning')).toHaveLength(6)
    expect(steps(events)[0]!.metrics).toMatchObject({ loss: 0, 'update/count': 0, frac_reward_zero_std: 1 })
  })

  test('failing rewards are counted, left out and named', async () => {
    let call = 0
    const score = eachSample(() => {
      if (call++ % 4 === 0) throw new Error('no such column')
      return call % 3
    })
    const rewards = [{ ...likesC, function: { ...likesC.function, score } }]
    const events = await collect(dependenciesOf({ rewards, heldOutRows: [], config: { steps: 1 } }))
    expect(steps(events)[0]!.metrics).toMatchObject({
      'reward/failures': 8,
      'reward/unscored': 8,
      'update/trajectories': 24,
    })
    expect(events.find(({ type }) => type === 'warning')).toMatchObject({
      message: 'The reward function “c” failed on 8 of 32 completions: no such column',
    })
  })

  test.each(['null', 'zero'] as const)(
    'a run of which nothing was ever scored fails in the end, with its checkpoint: %s',
    async (rewardFailures) => {
      const score = eachSample(() => {
        throw new Error('no such column')
      })
      const rewards = [{ ...likesC, function: { ...likesC.function, score } }]
      const config = { steps: 2, rewardFailures }
      const events: RunEvent[] = []
      const play = async (options: Parameters<typeof dependenciesOf>[0]) => {
        for await (const event of train(dependenciesOf(options))) events.push(event)
      }
      const sentence = /^No completion of 2 steps got a reward.* The model was not trained/
      await expect(play({ rewards, config })).rejects.toThrow(sentence)
      expect(steps(events)).toHaveLength(2)
      const last = events.at(-1)
      if (last?.type !== 'checkpoint-due') throw new Error('Expected a checkpoint.')
      expect(events.some((event) => event.type === 'status' && event.phase === 'finished')).toBe(false)
      // Taken up there, it is as little trained; with a step that is scored, it is.
      await expect(play({ rewards, config, state: last.state })).rejects.toThrow(sentence)
      await play({ config: { ...config, steps: 3 }, state: last.state })
      expect(events.at(-1)).toMatchObject({ type: 'status', phase: 'finished' })
    },
  )

  test('parts that do not fit are refused before anything runs', async () => {
    const refuse = (options: Parameters<typeof dependenciesOf>[0], text: string) =>
      expect(collect(dependenciesOf(options))).rejects.toThrow(text)
    await refuse({ rollout: { groupSize: 1 } }, 'rollout.groupSize: 1, but grpo compares at least 2')
    await refuse({ rollout: { maxNewTokens: 40 } }, 'the model reads only 32 tokens')
    await refuse(
      { rollout: { maxNewTokens: 40 }, teacher: 'short' },
      'rollout.maxNewTokens is 40, but the teacher short reads only 32 tokens.',
    )
    await refuse({ trainRows: [] }, 'The data set has no rows.')
    await refuse({ trainRows: [{ prompt: 'a'.repeat(30) }] }, 'Every prompt is longer than 26 tokens.')
  })
})

/** Answers that are preferred or marked: what is scored for them, and that they are learned. */
import { expect, test } from 'vitest'
import { kto } from '#rl/algorithms/kto.ts'
import { orpo } from '#rl/algorithms/orpo.ts'
import { simpo } from '#rl/algorithms/simpo.ts'
import { completionMask, singleTurnTrajectory } from '#rl/rollout/trajectory.ts'
import { prepareRows } from '#rl/training/experience.ts'
import { fakePolicy, fakeTokenizer } from '../fakePolicy.ts'
import { collect, dependenciesOf, evaluations, watched } from './run.ts'

test('pairs without a reference none is scored', async () => {
  for (const algorithm of [orpo, simpo]) {
    const policy = fakePolicy()
    const config = { steps: 10 }
    const events = await collect(dependenciesOf({ algorithm: algorithm.configure({}), policy, config }))
    const after = evaluations(events).at(-1)!.metrics
    expect([algorithm.id, after['eval_rewards/accuracies']]).toEqual([algorithm.id, 1])
    expect(Object.keys(policy.calls)).not.toContain('score reference')
  }
})

test('answers with marks are learned one by one, measured against answers after other prompts', async () => {
  const { algorithm, minibatches } = watched(kto.configure({}))
  const policy = fakePolicy()
  const trainRows = [
    { prompt: 'a', completion: 'bb', label: true },
    { prompt: 'b', completion: 'cccc', label: false },
    { prompt: 'c', completion: 'd', label: true },
  ]
  const options = { algorithm, policy, trainRows, heldOutRows: trainRows, rollout: { promptsPerStep: 3 } }
  const events = await collect(dependenciesOf({ ...options, config: { steps: 20 } }))
  // Of a step: both rows and mismatches by the reference, mismatches alone by the policy; all of them by both in 3 evaluations.
  expect(policy.calls).toMatchObject({ 'score reference': 46, 'score actor': 26 })
  const first = minibatches[0]!
  expect(first.map(({ turnRewards }) => turnRewards[0]).toSorted()).toEqual([0, 1, 1])
  expect(first.map(({ mismatchedLogRatio }) => mismatchedLogRatio)).toEqual([0, 0, 0])
  const after = evaluations(events).at(-1)!.metrics
  expect(after['eval_rewards/chosen']).toBeGreaterThan(0.1)
  expect(after['eval_rewards/rejected']).toBeLessThan(-0.1)
  expect(after.eval_reference_point).toBeDefined()
})

test('answers after other prompts have the log-ratio of what stands there', async () => {
  const policy = fakePolicy()
  policy.table.forEach((_, i) => (policy.table[i] = Math.sin(i)))
  const row = (prompt: string, ids: readonly number[]) => ({
    ...singleTurnTrajectory(
      { text: prompt, row: 0, columns: {}, ids: fakeTokenizer.encode(prompt) },
      0,
      { ids: Int32Array.from(ids), logprobs: new Float64Array(0), stopReason: 'stop-id' },
      '',
    ),
    reward: { parts: {}, total: null, failures: [] },
    turnRewards: [1],
    tokenRewards: null,
  })
  const load = { tokens: 64, isLimit: false, replicas: 1, sharesPrefixes: false }
  const options = { policy, referenceRole: 'reference', temperature: 1, load } as const
  const rows = await prepareRows([row('a', [2, 0]), row('cc', [5, 6, 0])], kto.configure({}), 1, options)
  const [first, second] = [
    [1, 5, 6, 0],
    [3, 3, 2, 0],
  ]
  const scored = async (ids: readonly number[], from: number) => {
    const sequence = { ids: Int32Array.from(ids), actionMask: completionMask(from, ids.length) }
    const of = async (role: 'actor' | 'reference') =>
      (await policy.score([sequence], { role, temperature: 1 }))[0]!.logprobs.subarray(from - 1)
    const [actor, reference] = [await of('actor'), await of('reference')]
    return actor.reduce((sum, logprob, t) => sum + logprob - reference[t]!, 0)
  }
  const ratios = rows.map(({ learning }) => learning.mismatchedLogRatio)
  expect(ratios[0]).toBeCloseTo(await scored(first, 1), 12)
  expect(ratios[1]).toBeCloseTo(await scored(second, 2), 12)
  expect(Math.abs(ratios[0]!)).toBeGreaterThan(0.01)
})

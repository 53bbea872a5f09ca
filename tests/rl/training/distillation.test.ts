/** Learning from a teacher, whose log-probabilities stand in the place of the reference's. */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { distillation, unreadSettings } from '#rl/algorithms/distillation.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'
import { fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf, steps } from './run.ts'

const options = (settings = {}) => {
  const policy = fakePolicy()
  policy.reference.forEach((_, i) => (policy.reference[i] = 2 * Math.sin(3 * i)))
  const config = { steps: 60 }
  return {
    algorithm: distillation.configure(settings),
    policy,
    rewards: [],
    config,
    rollout: { promptsPerStep: 14 },
  }
}

test('the policy comes close to the teacher, without a reward', async () => {
  const events = await collect(dependenciesOf(options()))
  const divergences = steps(events).map(({ metrics }) => metrics.kl!)
  expect(divergences[0]).toBeGreaterThan(0.4)
  expect(divergences.slice(-5).reduce((sum, kl) => sum + kl, 0) / 5).toBeLessThan(0.1)
})

test.each([
  [0, 9],
  [0.5, 9],
  [0.5, 2],
  [1, 4],
])('GKD with β %s over the likeliest %s tokens comes close, and says how close', async (jsdBeta, topK) => {
  const settings = { compares: 'top-k', jsdBeta, topK }
  const metrics = steps(await collect(dependenciesOf(options(settings)))).map((step) => step.metrics)
  const covered = metrics[0]!.teacher_coverage!
  if (topK === 9) expect(covered).toBeCloseTo(1, 12)
  else expect(covered).toBeLessThan(0.99)
  expect(metrics[0]!.divergence).toBeGreaterThan(0.05)
  expect(metrics.at(-1)!.divergence).toBeLessThan(0.15 * metrics[0]!.divergence!)
  expect(metrics.at(-1)!.loss).toBeCloseTo(metrics.at(-1)!.divergence!, 12)
})

test('the advantage of a token is how much likelier the teacher finds it', () => {
  const row = {
    actionMask: Uint8Array.of(0, 1, 1),
    behaviorLogprobs: Float64Array.of(-9, -1, -2),
    referenceLogprobs: Float64Array.of(-9, -3, -0.5),
  }
  const { tokens } = distillation.configure({}).advantages([row as never])
  expect([...tokens[0]!]).toEqual([0, -2, 1.5])
})

test.each(['sampled', 'top-k'])(
  'a setting is called unread exactly where the loss does not read it: %s',
  (compares) => {
    const rows = sampleBatch().map((row) => ({ ...row, logprobs: row.logprobs.map((logp) => 0.9 * logp) }))
    const lossWith = (settings: object) => {
      const algorithm = distillation.configure({ compares, ...settings })
      const [first] = algorithm.minibatchLoss(rows)(rows).coefficients
      const unread = unreadSettings({ compares, ...settings }).map(([name]) => name)
      return { unread, needs: algorithm.needs, first }
    }
    const initial = lossWith({})
    expect(initial.unread).toEqual([])
    for (const [name, value] of Object.entries({ clipCoefficient: 0.01, jsdBeta: 0.1, topK: 5 })) {
      const changed = lossWith({ [name]: value })
      const isRead = !isDeepStrictEqual({ ...changed, unread: [] }, initial)
      expect([name, changed.unread]).toEqual([name, isRead ? [] : [name]])
    }
  },
)

test('without a teacher it is refused', async () => {
  const config = { steps: 1, reference: {} }
  await expect(collect(dependenciesOf({ ...options(), config }))).rejects.toThrow(
    'name a model with the same',
  )
})

/** Learning from a teacher, whose log-probabilities stand in the place of the reference's. */
import { expect, test } from 'vitest'
import { distillation } from '#rl/algorithms/distillation.ts'
import { fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf, steps } from './run.ts'

const options = () => {
  const policy = fakePolicy()
  policy.reference.forEach((_, i) => (policy.reference[i] = 2 * Math.sin(3 * i)))
  const config = { steps: 60 }
  return {
    algorithm: distillation.configure({}),
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

test('the advantage of a token is how much likelier the teacher finds it', () => {
  const row = {
    actionMask: Uint8Array.of(0, 1, 1),
    behaviorLogprobs: Float64Array.of(-9, -1, -2),
    referenceLogprobs: Float64Array.of(-9, -3, -0.5),
  }
  const { tokens } = distillation.configure({}).advantages([row as never])
  expect([...tokens[0]!]).toEqual([0, -2, 1.5])
})

test('without a teacher it is refused', async () => {
  const config = { steps: 1, reference: {} }
  await expect(collect(dependenciesOf({ ...options(), config }))).rejects.toThrow(
    'name a model with the same',
  )
})

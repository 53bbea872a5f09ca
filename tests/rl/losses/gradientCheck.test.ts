/** The check `gradient` watches our own derivatives: it finds an operator whose rule is wrong, which no loss can be. */
import { expect, test, vi } from 'vitest'
import { lossCheckNames, type LossProgram } from '#shared/losses.ts'
import type * as differentiable from '#rl/algorithms/terms/differentiable.ts'
import { checked } from '#rl/losses/check.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'

let isBroken = false

vi.mock('#rl/algorithms/terms/differentiable.ts', async (load) => {
  const real: typeof differentiable = await load()
  return {
    ...real,
    // The value of exp with half of its slope.
    exp: (x: differentiable.Value) =>
      isBroken
        ? real.add(real.multiply(real.exp(x), 0.5), real.multiply(real.constant(real.exp(x)), 0.5))
        : real.exp(x),
  }
})

/** -mean(exp(logp - oldLogp) * advantages, mask) */
const program: LossProgram = {
  nodes: [
    { op: 'input', per: 'token', of: [], value: 'logp' },
    { op: 'input', per: 'token', of: [], value: 'oldLogp' },
    { op: 'subtract', per: 'token', of: [0, 1] },
    { op: 'exp', per: 'token', of: [2] },
    { op: 'input', per: 'token', of: [], value: 'advantages' },
    { op: 'multiply', per: 'token', of: [3, 4] },
    { op: 'input', per: 'token', of: [], value: 'mask' },
    { op: 'mean', per: 'batch', of: [5, 6] },
    { op: 'negative', per: 'batch', of: [7] },
  ],
  terms: [{ loss: 8, weight: 'tokens' }],
  metrics: {},
}

const faults = () =>
  [...checked(program, sampleBatch(), { unit: 1, experience: 'rollout' })]
    .filter(({ fault }) => fault !== null)
    .map(({ name }) => name)

test('a derivative of half the size is found by central differences, and by nothing else', () => {
  expect(faults()).toEqual([])
  isBroken = true
  expect(faults()).toEqual(['gradient'])
  expect(lossCheckNames.at(-1)).toBe('gradient')
})

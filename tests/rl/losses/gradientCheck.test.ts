/** The check `gradient` watches our own derivatives: it finds an operator whose rule is wrong, which no loss can be. */
import { expect, test, vi } from 'vitest'
import { lossCheckNames, type LossProgram } from '#shared/losses.ts'
import type * as differentiable from '#rl/algorithms/terms/differentiable.ts'
import { checked } from '#rl/losses/check.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'

let isBroken = false
/** The `where` of a loss, not that of its means, decides once for all by its first condition. */
let isOnce = false

vi.mock('#rl/algorithms/terms/differentiable.ts', async (load) => {
  const real: typeof differentiable = await load()
  const { add, multiply } = real.arithmetic
  return {
    ...real,
    operate(name: Parameters<typeof real.operate>[0], operands: readonly differentiable.Operand[]) {
      const result = real.operate(name, operands)
      // The value of exp with half of its slope.
      if (isBroken && name === 'exp') return add(multiply(result, 0.5), multiply(real.constant(result), 0.5))
      if (!isOnce || name !== 'where') return result
      const [condition, ...branches] = operands
      const { data } = real.constant(condition!)
      return real.operate(name, [data.map(() => data[0]!), ...branches])
    },
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

/** The same with advantages that are weighed: where(advantages > 0, 2, 1). */
const weighed: LossProgram = {
  ...program,
  nodes: [
    ...program.nodes.slice(0, 7),
    ...[0, 2, 1].map((value) => ({
      op: 'number' as const,
      per: 'batch' as const,
      of: [] as [],
      value: String(value),
    })),
    { op: 'greater', per: 'token', of: [4, 7] },
    { op: 'where', per: 'token', of: [10, 8, 9] },
    { op: 'multiply', per: 'token', of: [5, 11] },
    { op: 'sum', per: 'batch', of: [12, 6] },
    { op: 'sum', per: 'batch', of: [6] },
    { op: 'divide', per: 'batch', of: [13, 14] },
    { op: 'negative', per: 'batch', of: [15] },
  ],
  terms: [{ loss: 16, weight: 'tokens' }],
}

const faults = (loss = program, rows = sampleBatch()) =>
  [...checked(loss, rows, { unit: 1, experience: 'rollout' })]
    .filter(({ fault }) => fault !== null)
    .map(({ name }) => name)

test('a derivative of half the size is found by central differences, and by nothing else', () => {
  expect(faults()).toEqual([])
  isBroken = true
  expect(faults()).toEqual(['gradient'])
  expect(lossCheckNames.at(-1)).toBe('gradient')
})

test('a condition that is decided once for all is found, also where every row begins with a prompt', () => {
  isBroken = false
  expect(faults(weighed)).toEqual([])
  isOnce = true
  expect(faults(weighed)).toEqual(['row-order', 'micro-batches'])
  const afterPrompts = sampleBatch().map((row) => withPrompt(row))
  expect(faults(weighed, afterPrompts)).toContain('padding')
  isOnce = false
  expect(faults(weighed, afterPrompts)).toEqual([])
})

test('sample rows begin with an action as often as with a prompt', () => {
  const beginnings = sampleBatch().map(({ actionMask }) => actionMask[0])
  expect(beginnings.filter((is) => is === 1)).toHaveLength(beginnings.length / 2)
})

/** Two tokens before a row. */
function withPrompt(row: LossRow): LossRow {
  const lists = Object.entries(row).map(([name, values]): [string, unknown] => {
    if (values instanceof Float64Array) return [name, Float64Array.of(-1, -1, ...values)]
    if (values instanceof Uint8Array) return [name, Uint8Array.of(0, 0, ...values)]
    return [name, values instanceof Int32Array ? Int32Array.of(-1, -1, ...values) : values]
  })
  return Object.fromEntries(lists) as unknown as LossRow
}

/** Every operation against central differences, and what makes the arithmetic fit for losses. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  arithmetic,
  clip,
  constant,
  gradientsOf,
  maskOf,
  mean,
  type Operand,
  pool,
  spread,
  sum,
  type Value,
  variable,
  where,
} from '#rl/algorithms/terms/differentiable.ts'
import { lossFunctions, operationEntries } from '#shared/lossLanguage.ts'
import * as code from '../../../src/library/code.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const { add, exp, expm1, logSigmoid, maximum, minimum, multiply, negative, sigmoid, square, subtract } =
  arithmetic

const units = { of: Int32Array.of(0, 1, 0, 2, 1), sizes: Int32Array.of(2, 2, 1) }
const odd = maskOf(5, (i) => i % 2 === 1)

const operations: Readonly<Record<string, (x: Value, y: Value) => Operand>> = {
  add,
  subtract,
  multiply,
  minimum,
  maximum,
  negative,
  square,
  divide: (x, y) => arithmetic.divide(x, exp(y)),
  power: (x, y) => arithmetic.power(exp(x), y),
  log: (x) => arithmetic.log(exp(x)),
  log1p: (x) => arithmetic.log1p(exp(x)),
  sqrt: (x) => arithmetic.sqrt(exp(x)),
  abs: arithmetic.abs,
  tanh: arithmetic.tanh,
  exp,
  expm1,
  sigmoid,
  logSigmoid,
  clip: (x) => clip(x, { lower: -0.5, upper: 0.5 }),
  'clip with bounds that learn': (x, y) => arithmetic.clip(x, subtract(y, 1), y),
  where: (x, y) => arithmetic.where(Float64Array.from(odd), x, y),
  'where with a mask': (x, y) => where(odd, x, y),
  sum: (x, y) => multiply(sum(x), y),
  mean: (x, y) => multiply(mean(x), y),
  'number on the left': (x) => subtract(2, x),
  'mean of units': (x) => exp(pool(x, units, 'mean')),
  'sum of units': (x) => exp(pool(x, units, 'sum')),
  'last of units': (x) => exp(pool(x, units, 'final-value')),
  spread: (x, y) => multiply(spread(pool(x, units, 'mean'), units), y),
  'used twice': (x, y) => add(multiply(x, exp(y)), multiply(x, x)),
}

test('every operation that passes a gradient on is compared with central differences', () => {
  const learning = operationEntries.flatMap(([name, operation]) =>
    'slopes' in operation && operation.slopes.length > 0 ? [name] : [],
  )
  expect(learning.filter((name) => !(name in operations))).toEqual([])
})

const random = new SequentialRandom(randomStream(3))
const draw = () => Float64Array.from({ length: 5 }, () => random.normal())
const [x, y, weights] = [draw(), draw(), draw()]
const STEP = 1e-6

test.each(Object.keys(operations))('%s', (name) => {
  const answer = (a: Value, b: Value) => {
    const result = operations[name]!(a, b)
    const { length } = constant(result).data
    return sum(multiply(result, weights.subarray(0, length)))
  }
  const [a, b] = [variable(x), variable(y)]
  const gradients = gradientsOf(answer(a, b))
  const at = (i: number, shift: number, isFirst: boolean) => {
    const moved = (values: Float64Array) => values.with(i, values[i]! + shift)
    return answer(constant(isFirst ? moved(x) : x), constant(isFirst ? y : moved(y))).data[0]!
  }
  for (const [operand, isFirst] of [
    [a, true],
    [b, false],
  ] as const) {
    const gradient = gradients.get(operand) ?? new Float64Array(5)
    for (let i = 0; i < 5; i++) {
      const difference = (at(i, STEP, isFirst) - at(i, -STEP, isFirst)) / (2 * STEP)
      expect(gradient[i]).toBeCloseTo(difference, 7)
    }
  }
})

describe('in a loss', () => {
  test('a constant lets no gradient through', () => {
    const a = variable(x)
    const gradient = gradientsOf(sum(multiply(constant(exp(a)), a))).get(a)!
    gradient.forEach((value, i) => expect(value).toBeCloseTo(Math.exp(x[i]!), 12))
  })

  test('of two equal ones the first has the gradient', () => {
    const [a, b] = [variable(Float64Array.of(1)), variable(Float64Array.of(1))]
    expect([...gradientsOf(minimum(a, b)).get(a)!, ...gradientsOf(minimum(a, b)).get(b)!]).toEqual([1, 0])
  })

  test('what is left out may be infinite', () => {
    const a = variable(Float64Array.of(1000, 0))
    const loss = sum(where(Uint8Array.of(0, 1), exp(a), 0))
    expect(loss.data[0]).toBe(1)
    expect([...gradientsOf(loss).get(a)!]).toEqual([0, 1])
  })

  test('a trajectory without tokens adds nothing', () => {
    const a = variable(new Float64Array(0))
    expect(mean(multiply(a, 3)).data).toEqual(Float64Array.of(0))
    expect(gradientsOf(mean(a)).get(a)).toEqual(new Float64Array(0))
  })
})

test('the reference names every function that code of a loss may call', () => {
  const reference = readFileSync('docs/reference.md', 'utf8')
  const missing = lossFunctions.filter(([, { as }]) => !new RegExp(`\\\`${as}[\\\`(]`).test(reference))
  expect(missing).toEqual([])
})

test('the package exports every function that code of a loss may call', () => {
  expect(Object.keys(code)).toEqual(expect.arrayContaining(lossFunctions.map(([, { as }]) => as)))
})

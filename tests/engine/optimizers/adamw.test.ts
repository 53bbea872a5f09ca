import { describe, expect, test } from 'vitest'
import { adamw, type AdamWFactors } from '#engine/optimizers/adamw.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import type { ParameterGroup } from '#engine/optimizers/optimizer.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'

type Arrays = ConstructorParameters<typeof HostNumbers>[0]

/** Parameters with gradients, and one group that an update moves. */
function given(parameters: number[], gradients: number[], moments = 0): Arrays & { groups: Group[] } {
  const arrays: Arrays = {
    values: Float32Array.from(parameters),
    gradients: Float32Array.from(gradients),
    first: new Float32Array(parameters.length).fill(moments),
    second: new Float32Array(parameters.length).fill(moments),
  }
  return { ...arrays, groups: [{ numbers: [new HostNumbers(arrays)], learningRate: 0.1 }] }
}
type Group = ParameterGroup<AdamWFactors>

const update = (
  groups: readonly Group[],
  more: { step?: number; maxGradNorm?: number } = {},
  settings = {},
) => adamw.step({ groups, step: 1, maxGradNorm: Infinity, ...more }, { ...adamw.settings, ...settings })

describe('AdamW', () => {
  test('has the defaults of PyTorch', () => {
    expect(adamw.settings).toEqual({ beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 })
  })

  test('its first update moves every parameter by the learning rate, whatever the gradient', async () => {
    const { groups, values } = given([1, 1, 1], [1e-3, -5, 70])
    await update(groups, {}, { weightDecay: 0 })
    expect([...values].map((value) => Number((value - 1).toFixed(5)))).toEqual([-0.1, 0.1, -0.1])
  })

  test('a group may consist of several arrays, which are clipped together', async () => {
    const [one, other] = [given([1], [3]), given([1], [4])]
    const numbers = [one, other].flatMap(({ groups }) => groups.flatMap((group) => group.numbers))
    expect(await update([{ numbers, learningRate: 0.1 }], { maxGradNorm: 1 })).toEqual([5])
    expect(one.first[0]).toBeCloseTo(0.1 * (3 / 5), 6)
    expect(other.first[0]).toBeCloseTo(0.1 * (4 / 5), 6)
  })

  test('decays the parameter itself, not through the moments', async () => {
    const { groups, values, first } = given([2], [0])
    await update(groups, {}, { weightDecay: 0.5 })
    expect(values[0]).toBeCloseTo(2 * (1 - 0.1 * 0.5), 6)
    expect(first[0]).toBe(0)
  })

  test('in f32, twenty updates end no further from those in f64 than a parameter is rounded twenty times', async () => {
    const random = new SequentialRandom(randomStream(2))
    const start = Array.from({ length: 1000 }, () => 0.1 * random.normal())
    const { groups, values, gradients } = given(start, start)
    const exact = {
      values: Float64Array.from(values),
      first: new Float64Array(1000),
      second: new Float64Array(1000),
    }
    const [rate, weightDecay] = [1e-4, 0.01]
    for (let step = 1; step <= 20; step++) {
      gradients.forEach((_, i) => (gradients[i] = 0.01 * random.normal()))
      await update(
        groups.map((group) => ({ ...group, learningRate: rate })),
        { step },
        { weightDecay },
      )
      gradients.forEach((gradient, i) => {
        const m = (exact.first[i] = 0.9 * exact.first[i]! + 0.1 * gradient)
        const v = (exact.second[i] = 0.999 * exact.second[i]! + 0.001 * gradient * gradient)
        const [meanOf, rootOf] = [m / (1 - 0.9 ** step), Math.sqrt(v / (1 - 0.999 ** step))]
        exact.values[i]! -= rate * (weightDecay * exact.values[i]! + meanOf / (rootOf + 1e-8))
      })
    }
    const farthest = Math.max(...exact.values.map((value, i) => Math.abs(value - values[i]!)))
    expect(farthest).toBeLessThan((20 * 2 ** -25) / 2) // of parameters below 0.5
  })

  test.each([NaN, Infinity, -Infinity])('a gradient of %s is an error and changes nothing', async (bad) => {
    const { groups, values, first } = given([1, 2], [0.5, bad])
    await expect(update(groups)).rejects.toThrow('Expected finite gradients')
    expect([...values, ...first]).toEqual([1, 2, 0, 0])
  })

  test('the largest f32 gradients are still finite', async () => {
    const { groups, values } = given([1, 1], [3.4e38, 3.4e38])
    const [norm] = await update(groups, { maxGradNorm: 1 })
    expect(norm! / 3.4e38).toBeCloseTo(Math.SQRT2, 6)
    expect(values.every(Number.isFinite)).toBe(true)
  })

  test('a gradient whose squares f32 cannot hold has a norm', async () => {
    const { groups } = given([1, 1], [3e-30, 4e-30])
    const [norm] = await update(groups)
    expect(norm! / 5e-30).toBeCloseTo(1, 6)
  })

  test('an ε too small for f32 divides nothing by zero', async () => {
    const { groups, values } = given([1], [0])
    await update(groups, {}, { epsilon: 1e-60, weightDecay: 0 })
    expect([...values]).toEqual([1])
  })
})

describe('the norm of a gradient', () => {
  test.each([1, 4095, 4096, 4097, 100_003])(
    'of %i numbers is that in f64, to a millionth',
    async (length) => {
      const random = new SequentialRandom(randomStream(length))
      const gradients = Array.from({ length }, () => random.normal())
      const { groups } = given(new Array<number>(length).fill(0), gradients)
      const [norm] = await update(groups)
      const exact = Math.hypot(...Float32Array.from(gradients))
      expect(Math.abs(norm! / exact - 1)).toBeLessThan(1e-6)
    },
  )
})

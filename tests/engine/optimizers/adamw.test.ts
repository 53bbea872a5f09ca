import { describe, expect, test } from 'vitest'
import { adamw, adamwStep } from '#engine/optimizers/adamw.ts'
import { initialState, type OptimizerTask } from '#engine/optimizers/optimizer.ts'

function task(
  parameters: number[],
  gradients: number[],
  overrides: Partial<OptimizerTask> = {},
): OptimizerTask {
  return {
    parameters: Float32Array.from(parameters),
    gradients: Float32Array.from(gradients),
    state: initialState(adamw, parameters.length),
    groups: [{ ranges: [{ start: 0, end: parameters.length }], learningRate: 0.1 }],
    maxGradNorm: Infinity,
    ...overrides,
  }
}

describe('AdamW', () => {
  test('has the defaults of PyTorch', () => {
    expect(adamw.settings).toEqual({ beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 })
  })

  test('its first update moves every parameter by the learning rate, whatever the gradient', () => {
    const update = task([1, 1, 1], [1e-3, -5, 70])
    adamwStep(update, { ...adamw.settings, weightDecay: 0 })
    expect([...update.parameters].map((value) => Number((value - 1).toFixed(5)))).toEqual([-0.1, 0.1, -0.1])
    expect(update.state.step).toBe(1)
  })

  test('a group may own several ranges; they are clipped together and the rest is left alone', () => {
    const groups = [
      {
        ranges: [
          { start: 0, end: 1 },
          { start: 2, end: 3 },
        ],
        learningRate: 0.1,
      },
    ]
    const update = task([1, 1, 1], [3, 100, 4], { groups, maxGradNorm: 1 })
    expect(adamw.step(update, adamw.settings)).toEqual([5])
    expect(update.parameters[1]).toBe(1)
    expect(update.state.buffers['firstMoments']![0]).toBeCloseTo(0.1 * (3 / 5), 6)
    expect(update.state.buffers['firstMoments']![1]).toBe(0)
  })

  test('decays the parameter itself, not through the moments', () => {
    const update = task([2], [0])
    adamwStep(update, { ...adamw.settings, weightDecay: 0.5 })
    expect(update.parameters[0]).toBeCloseTo(2 * (1 - 0.1 * 0.5), 6)
    expect(update.state.buffers['firstMoments']![0]).toBe(0)
  })

  test.each([NaN, Infinity, -Infinity])('a gradient of %s is an error and changes nothing', (bad) => {
    const update = task([1, 2], [0.5, bad])
    expect(() => adamwStep(update, adamw.settings)).toThrow('Expected finite gradients')
    expect([...update.parameters]).toEqual([1, 2])
    expect(update.state).toEqual(initialState(adamw, 2))
  })

  test('the largest f32 gradients are still finite', () => {
    const update = task([1, 1], [3.4e38, 3.4e38], { maxGradNorm: 1 })
    expect(adamwStep(update, adamw.settings)[0]).toBeCloseTo(3.4e38 * Math.SQRT2, -33)
    expect(update.parameters.every(Number.isFinite)).toBe(true)
  })

  test('continuing from a stored state gives the same bytes as never stopping', () => {
    const gradients = [0.3, -0.2]
    const straight = task([1, 2], gradients)
    for (let step = 0; step < 4; step++) adamwStep(straight, adamw.settings)

    const before = task([1, 2], gradients)
    for (let step = 0; step < 2; step++) adamwStep(before, adamw.settings)
    const after = { ...before, parameters: before.parameters.slice(), state: structuredClone(before.state) }
    for (let step = 0; step < 2; step++) adamwStep(after, adamw.settings)

    expect(after.parameters).toEqual(straight.parameters)
    expect(after.state).toEqual(straight.state)
  })

  test('refuses the state of another adapter', () => {
    const update = task([1, 2], [1, 1], { state: initialState(adamw, 3) })
    expect(() => adamwStep(update, adamw.settings)).toThrow(
      'Expected 2 entries in optimizer buffer firstMoments, got 3.',
    )
  })
})

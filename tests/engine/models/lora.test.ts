import { describe, expect, test } from 'vitest'
import type { LoraConfig } from '#engine/models/config.ts'
import { linearNames } from '#engine/models/config.ts'
import { addLora, loraInputs, loraSlots } from '#engine/models/lora.ts'
import { input } from '#engine/graph/value.ts'
import { evaluate } from '../graph/evaluate.ts'
import { exampleConfig } from './exampleConfig.ts'

const lora: LoraConfig = { rank: 3, alpha: 6, rsLora: false, targets: linearNames }

describe('slots', () => {
  test('lie one after the other without gaps, layer by layer, A before B', () => {
    const slots = loraSlots(exampleConfig, lora)
    let end = 0
    for (const { offset, size, shape } of slots) {
      expect([offset, size]).toEqual([end, shape[0] * shape[1]])
      end += size
    }
    expect(slots.slice(0, 2).map(({ name, shape }) => [name, shape])).toEqual([
      ['model.layers.0.self_attn.q_proj.lora_A', [3, 24]],
      ['model.layers.0.self_attn.q_proj.lora_B', [60, 3]],
    ])
    expect(slots.at(-1)).toMatchObject({
      name: 'model.layers.1.mlp.down_proj.lora_B',
      layer: 1,
      shape: [24, 3],
    })
    expect(slots).toHaveLength(2 * 7 * 2)
  })

  test('do not depend on the order in which targets were asked for', () => {
    const forward = loraSlots(exampleConfig, { ...lora, targets: ['q_proj', 'up_proj'] })
    expect(loraSlots(exampleConfig, { ...lora, targets: ['up_proj', 'q_proj'] })).toEqual(forward)
  })

  test('have the inputs that loraInputs makes, of the same shapes', () => {
    const inputs = loraInputs(exampleConfig, lora, 0)
    for (const { input: name, shape, factor } of loraSlots(exampleConfig, lora)) {
      const pair = [...inputs.values()].map(({ a, b }) => (factor === 'A' ? a : b))
      const value = pair.find(({ node }) => node.kind === 'input' && node.name === name)
      expect(value?.shape).toEqual(shape)
    }
  })
})

test('inputs of several layers in one graph are told apart', () => {
  const inputs = loraInputs(exampleConfig, { ...lora, targets: ['v_proj'] }, 0, (name) => `5 ${name}`)
  const names = [...inputs.values()]
    .flatMap(({ a, b }) => [a, b])
    .map(({ node }) => (node.kind === 'input' ? node.name : ''))
  expect(names).toEqual(['5 v_proj.lora_A', '5 v_proj.lora_B'])
})

test.each([
  [false, 2],
  [true, 6 / Math.sqrt(3)],
])('addLora gives y + s·B(A x) with s = alpha/rank, or alpha/√rank (rsLoRA: %s)', async (rsLora, scale) => {
  const factors = loraInputs(exampleConfig, { ...lora, rsLora, targets: ['k_proj'] }, 0).get('k_proj')!
  expect(factors.scale).toBeCloseTo(scale, 12)
  const [x, y] = [input('x', 'float32', ['N', 24]), input('y', 'float32', ['N', 20])]
  const data = (count: number, step: number) =>
    Array.from({ length: count }, (_, index) => Math.sin(index * step))
  const [xs, ys, as, bs] = [data(24, 1.1), data(20, 0.7), data(72, 1.3), data(60, 2.1)]
  const { sum } = await evaluate(
    { sum: addLora(y, x, factors) },
    {
      x: { data: xs, dims: [1, 24] },
      y: { data: ys, dims: [1, 20] },
      'k_proj.lora_A': { data: as, dims: [3, 24] },
      'k_proj.lora_B': { data: bs, dims: [20, 3] },
    },
  )
  const reduced = [0, 1, 2].map((row) =>
    xs.reduce((total, value, at) => total + value * as[row * 24 + at]!, 0),
  )
  for (let out = 0; out < 20; out++) {
    const update = reduced.reduce((total, value, at) => total + value * bs[out * 3 + at]!, 0)
    expect(sum![out]).toBeCloseTo(ys[out]! + scale * update, 4)
  }
})

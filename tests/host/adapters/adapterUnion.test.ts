import { describe, expect, test } from 'vitest'
import { loraScale, type LoraConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { fitsIn, underConfig, unionOf } from '#host/adapters/peftPatterns.ts'

const model = readModelConfig(
  {
    model_type: 'llama',
    hidden_size: 8,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    intermediate_size: 12,
    num_hidden_layers: 2,
    vocab_size: 20,
  },
  'config.json',
)

const lora = (change: Partial<LoraConfig> = {}): LoraConfig => ({
  rank: 2,
  alpha: 6,
  rsLora: false,
  targets: ['q_proj', 'down_proj'],
  ...change,
})

const tensorsOf = (config: LoraConfig): NamedTensor[] =>
  loraSlots(model, config).map(({ name, shape, size, offset }) => ({
    name,
    shape,
    data: Float32Array.from({ length: size }, (_, at) => Math.sin(offset + at)),
  }))

/** scale · B·A of every module, row by row. */
function products(config: LoraConfig, tensors: readonly NamedTensor[]): Map<string, number[]> {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const modules = [...byName.keys()]
    .filter((name) => name.endsWith('.lora_A'))
    .map((name) => name.slice(0, -7))
  return new Map(
    modules.map((module) => {
      const [a, b] = [byName.get(`${module}.lora_A`)!, byName.get(`${module}.lora_B`)!]
      const [[rank = 0, wide = 0], [out = 0]] = [a.shape, b.shape]
      const entry = (at: number) =>
        Array.from(
          { length: rank },
          (_, k) => b.data[Math.floor(at / wide) * rank + k]! * a.data[k * wide + (at % wide)]!,
        ).reduce((x, y) => x + y)
      return [module, Array.from({ length: out * wide }, (_, at) => loraScale(config) * entry(at))]
    }),
  )
}

describe('several configs', () => {
  const smaller = lora()
  const larger = lora({ rank: 4, alpha: 3, targets: ['v_proj', 'q_proj'] })
  const stabilised = lora({ rank: 3, alpha: 5, rsLora: true, targets: ['up_proj'] })

  test('unite to the largest rank, all targets and the scale of the first', () => {
    const united = unionOf([smaller, larger, stabilised])
    expect(united).toEqual({
      rank: 4,
      alpha: 12,
      rsLora: false,
      targets: ['q_proj', 'v_proj', 'up_proj', 'down_proj'],
    })
    expect(loraScale(united)).toBe(loraScale(smaller))
    expect(loraScale(unionOf([stabilised, larger]))).toBeCloseTo(loraScale(stabilised), 12)
    expect(unionOf([smaller, smaller])).toEqual(smaller)
  })

  test.each([
    ['a smaller rank, fewer targets', smaller],
    ['another alpha', larger],
    ['rank-stabilised', stabilised],
  ])('%s: the same product under the union, and nothing elsewhere', (_title, config) => {
    const united = unionOf([smaller, larger, stabilised])
    const expected = products(config, tensorsOf(config))
    const found = products(united, underConfig({ config, tensors: tensorsOf(config) }, united, model))
    for (const [module, values] of found) {
      const own = expected.get(module) ?? values.map(() => 0)
      values.forEach((value, at) => expect(Math.abs(value - own[at]!)).toBeLessThan(1e-6))
    }
    expect(found.size).toBe(8)
  })

  test('under its own config an adapter is itself, bit by bit', () => {
    expect(underConfig({ config: larger, tensors: tensorsOf(larger) }, larger, model)).toEqual(
      tensorsOf(larger),
    )
  })

  test('what does not fit is told before', () => {
    expect(fitsIn(larger, smaller, model)).toBe(false)
    expect(fitsIn(lora({ targets: ['v_proj'] }), smaller, model)).toBe(false)
    expect(fitsIn(lora({ rank: 1, targets: ['q_proj'] }), smaller, model)).toBe(true)
    expect(() => underConfig({ config: larger, tensors: tensorsOf(larger) }, smaller, model)).toThrow('fits')
  })
})

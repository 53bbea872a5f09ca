import { describe, expect, test } from 'vitest'
import { writeOnnx } from '#engine/graph/onnx.ts'
import { input, weight } from '#engine/graph/value.ts'
import type { LinearName, LoraConfig } from '#engine/models/config.ts'
import { linearNames, separateLinears } from '#engine/models/config.ts'
import type { LayerParameters } from '#engine/models/learningGraphs.ts'
import { gradientName, headPrograms, layerPrograms } from '#engine/models/learningGraphs.ts'
import { loraInputs } from '#engine/models/lora.ts'
import { layerTensors } from '#engine/models/source.ts'
import { countTypes, readOnnx, type ReadModel } from '../graph/onnxReader.ts'
import { exampleConfig, fullConfig } from './exampleConfig.ts'

const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }

function parameters(config = exampleConfig, targets: readonly LinearName[] = linearNames): LayerParameters {
  const adapter = loraInputs(config, { ...lora, targets }, 0)
  const stored = (path: string) => weight(path, { ...nowhere, shape: shapeOf(path, config) })
  return {
    adapter,
    trained: [...adapter.values()].flatMap(({ a, b }) => [a, b]),
    weight: stored,
    matrix: stored,
  }
}

const nowhere = { file: '/nowhere/m.safetensors', offset: 0, byteLength: 0 }

/** With matrices of bytes. */
const inBytes = (): LayerParameters => ({
  ...parameters(),
  matrix(path) {
    const [outputs = 0, inputs = 0] = shapeOf(path, exampleConfig)
    return {
      columns: weight(`${path} as bytes`, { ...nowhere, shape: [inputs, outputs] }, 'int8'),
      rows: weight(`${path} both ways`, { ...nowhere, shape: [outputs, inputs] }, 'int8'),
      scales: weight(`${path} scales`, { ...nowhere, shape: [outputs] }),
    }
  },
})

function shapeOf(path: string, config: typeof exampleConfig): readonly number[] {
  const tensor = layerTensors(config, 0).find(({ name }) => name === path)
  if (!tensor) throw new Error(`A layer has no ${path}.`)
  return tensor.shape
}

const written = (program: Parameters<typeof writeOnnx>[1]): ReadModel =>
  readOnnx(writeOnnx('test', program).bytes)

/** How often a program multiplies by a frozen matrix. */
const frozenProducts = (model: ReadModel): number =>
  model.nodes.filter(({ type, inputs }) => type === 'FusedMatMul' && inputs[1]?.endsWith('_proj.weight'))
    .length

describe('a layer', () => {
  const later = layerPrograms(exampleConfig, parameters(), { layer: 1 })
  const savedNames = Object.keys(later.forwardSaving).filter((name) => name !== 'output')
  const first = layerPrograms(exampleConfig, parameters(), { layer: 0 })

  test('multiplies by each frozen matrix once forward', () => {
    expect(frozenProducts(written(later.forward))).toBe(7)
    expect(frozenProducts(written(later.forwardSaving))).toBe(7)
  })

  test('multiplies by each frozen matrix once backward when activations were saved', () => {
    expect(frozenProducts(written(later.backwardFromSaved))).toBe(7)
  })

  test('recomputes all but the last product, whose result no gradient needs', () => {
    expect(frozenProducts(written(later.backward))).toBe(6 + 7)
  })

  test('multiplies with matrices of bytes as often, and rounds what several of them read only once', () => {
    const programs = layerPrograms(exampleConfig, inBytes(), { layer: 1 })
    const counts = ({ nodes }: ReadModel) => {
      const of = (type: string) => nodes.filter((node) => node.type === type).length
      return { products: of('MatMulIntegerToFloat'), rounded: of('QuantizeLinear') / 2 }
    }
    // The inputs of q, k and v, of o, of gate and up, and of down; going back, every product has a cotangent of its own.
    expect(counts(written(programs.forward))).toEqual({ products: 7, rounded: 4 })
    expect(counts(written(programs.backwardFromSaved))).toEqual({ products: 7, rounded: 7 })
    expect(counts(written(programs.backward))).toEqual({ products: 6 + 7, rounded: 3 + 7 })
    expect(frozenProducts(written(programs.backward))).toBe(0)
  })

  test('reads matrices of bytes as they lie, and nothing but products reads them', () => {
    const programs = layerPrograms(exampleConfig, inBytes(), { layer: 1 })
    const readers = (name: 'forward' | 'backward' | 'backwardFromSaved', way: string) =>
      written(programs[name]).nodes.filter(({ inputs }) => inputs.some((read) => read.endsWith(way)))
    for (const name of ['forward', 'backward', 'backwardFromSaved'] as const) {
      const both = [...readers(name, ' as bytes'), ...readers(name, ' both ways')]
      expect(new Set(both.map(({ type }) => type))).toEqual(new Set(['MatMulIntegerToFloat']))
    }
    expect(readers('forward', ' both ways')).toEqual([])
    expect(readers('backward', ' as bytes')).toHaveLength(6)
    expect(readers('backward', ' both ways')).toHaveLength(7)
    expect(readers('backwardFromSaved', ' as bytes')).toEqual([])
  })

  test('computes no gradient for its input where nobody learns it', () => {
    expect(Object.keys(first.backward)).not.toContain(gradientName('hidden'))
    // q, k and v need no cotangent behind them.
    expect(frozenProducts(written(first.backwardFromSaved))).toBe(4)
  })

  test('returns gradients of exactly the adapter and its input', () => {
    const expected = separateLinears.flatMap((name) => [`${name}.lora_A`, `${name}.lora_B`])
    expect(Object.keys(later.backward).toSorted()).toEqual(
      [...expected, 'hidden'].map(gradientName).toSorted(),
    )
    for (const [name, value] of Object.entries(later.backward)) {
      expect([name, value.shape]).toEqual([
        name,
        written(later.backward).inputs.find((item) => gradientName(item.name) === name)?.dims,
      ])
    }
  })

  test('trained on some linears only, computes nothing for the others', () => {
    const some = layerPrograms(exampleConfig, parameters(exampleConfig, ['down_proj']), { layer: 0 })
    const model = written(some.backwardFromSaved)
    expect(Object.keys(some.backward)).toEqual(['down_proj.lora_A', 'down_proj.lora_B'].map(gradientName))
    // Nothing lies before the adapter that learns, so no cotangent passes a frozen matrix, and attention is not touched.
    expect(frozenProducts(model)).toBe(0)
    expect(countTypes(model)['Softmax']).toBeUndefined()
  })

  test('saved activations are all read, and replace what led to them', () => {
    const model = written(later.backwardFromSaved)
    const names = model.inputs.map(({ name }) => name)
    expect(savedNames.filter((name) => !names.includes(name))).toEqual([])
    const recomputed = written(later.backward).inputs.map(({ name }) => name)
    expect(savedNames.filter((name) => recomputed.includes(name))).toEqual([])
  })

  test('the forward programs agree on their result and never hold a gradient', () => {
    expect(Object.keys(later.forward)).toEqual(['output'])
    expect(Object.keys(later.forwardSaving)).toEqual([
      'output',
      ...['query', 'key', 'value', 'mixed', 'attended', 'gate', 'up'],
    ])
    expect(written(later.forward).inputs.map(({ name }) => name)).not.toContain('cotangent')
  })

  test('with biases and head norms has no product more', () => {
    const full = layerPrograms(fullConfig, parameters(fullConfig), { layer: 1 })
    expect(frozenProducts(written(full.backward))).toBe(13)
    expect(countTypes(written(full.forward))['SimplifiedLayerNormalization']).toBe(4)
  })

  test('whose parameters do not reach its output is an error', () => {
    const stray = input('stray', 'float32', [3])
    const build = () => layerPrograms(exampleConfig, { ...parameters(), trained: [stray] }, { layer: 0 })
    expect(build).toThrow("The layer's output does not depend on stray.")
  })
})

describe('the head', () => {
  const { vocabSize, hiddenSize } = exampleConfig
  const file = { file: '/nowhere/m.safetensors', offset: 0, byteLength: 0 }
  const programs = headPrograms(exampleConfig, {
    vector: (name) => weight(name, { ...file, shape: [hiddenSize] }),
    table: weight('table', { ...file, shape: [vocabSize, hiddenSize] }),
  })
  const products = (program: keyof typeof programs) =>
    written(programs[program])
      .nodes.filter(({ inputs }) => inputs.includes('table'))
      .map(({ type }) => type)

  test('passes over the vocabulary once to score, twice to learn, three times with the entropy', () => {
    const multiplications = (program: keyof typeof programs) =>
      products(program).filter((type) => type === 'FusedMatMul').length
    expect(multiplications('score')).toBe(1)
    expect(multiplications('learn')).toBe(2)
    expect(multiplications('learnEntropy')).toBe(3)
  })

  test('returns one number or one row per token, nothing as wide as the vocabulary', () => {
    for (const program of Object.values(programs)) {
      for (const { dims } of written(program).outputs) expect(dims).not.toContain(vocabSize)
    }
  })

  test('computes nothing for its frozen table', () => {
    for (const program of Object.values(programs))
      expect(countTypes(written(program))['OneHot']).toBeUndefined()
  })
})

import { describe, expect, test } from 'vitest'
import { writeOnnx } from '#engine/graph/onnx.ts'
import type { Value } from '#engine/graph/value.ts'
import { input, weight } from '#engine/graph/value.ts'
import type { LinearName, ModelConfig } from '#engine/models/config.ts'
import { attentionOf, linearNames, linearShape, separateLinears } from '#engine/models/config.ts'
import type { LayerScope } from '#engine/models/layerScope.ts'
import { decoderLayer } from '#engine/models/decoder.ts'
import { generationProgram } from '#engine/models/generationGraph.ts'
import { layerPrograms } from '#engine/models/learningGraphs.ts'
import { expectedTensors, layerTensors } from '#engine/models/source.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { readOnnx } from '../graph/onnxReader.ts'
import { exampleConfig, fullConfig } from './exampleConfig.ts'

const configs = [
  ['plain', exampleConfig],
  ['biases, head norms, tied head', fullConfig],
] as const

/** Every tensor of a checkpoint as a weight; an error names one that a checkpoint does not have. */
function checkpoint(config: ModelConfig) {
  const shapes = new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))
  return (name: string): Value => {
    const shape = shapes.get(name)
    if (!shape) throw new Error(`A checkpoint has no ${name}.`)
    return weight(name, { file: '/nowhere/m.safetensors', offset: 0, byteLength: 0, shape })
  }
}

/** Names of the weights that a written program reads. */
const weightsOf = (program: Parameters<typeof writeOnnx>[1]): string[] =>
  readOnnx(writeOnnx('test', program).bytes)
    .initializers.filter(({ external }) => external)
    .map(({ name }) => name)

describe.each(configs)('%s', (_, config) => {
  const read = checkpoint(config)
  const layerOf = (prefix: string) => ({
    weight: (path: string) => read(prefix + path),
    matrix: (path: string) => read(prefix + path),
    adapter: new Map(),
    trained: [],
  })

  test('generation reads every tensor of a checkpoint but the embedding table, which is looked up outside', () => {
    const program = generationProgram(config, null, {
      vector: read,
      product: (x, name) => matmul(x, read(name), { transB: true }),
    })
    const all = expectedTensors(config).map(({ name }) => name)
    const expected = config.tiedHead ? all : all.filter((name) => name !== 'model.embed_tokens.weight')
    expect([...new Set(weightsOf(program))].toSorted()).toEqual(expected.toSorted())
  })

  test('learning reads every tensor of its layer', () => {
    const programs = layerPrograms(config, layerOf('model.layers.1.'), { layer: 1, inputGradient: false })
    const expected = expectedTensors(config).flatMap(({ name }) =>
      name.startsWith('model.layers.1.') ? [name] : [],
    )
    expect([...new Set(weightsOf(programs.forward))].toSorted()).toEqual(expected.toSorted())
    expect(
      layerTensors(config, 1)
        .map(({ name }) => `model.layers.1.${name}`)
        .toSorted(),
    ).toEqual(expected.toSorted())
  })
})

test('a block asks its scope for each part once, with the widths of its config', () => {
  const asked: string[] = []
  const widths = new Map<LinearName, readonly unknown[]>()
  const scope: LayerScope = {
    config: exampleConfig,
    mixer: attentionOf(exampleConfig, 0),
    experts: null,
    vector(path) {
      asked.push(path)
      return input(path, 'float32', [24])
    },
    linear(name, x) {
      asked.push(name)
      const [out, width] = linearShape(exampleConfig, name, 0)
      widths.set(name, [x.shape.at(-1), width])
      return input(name, 'float32', [...x.shape.slice(0, -1), out])
    },
    route: (choice) => choice,
    rotate(x) {
      asked.push('rotate')
      return x
    },
    attend(q) {
      asked.push('attend')
      return q
    },
    earlierKeys: () => {
      throw new Error('Expected keys of its own.')
    },
    layerInput: () => {
      throw new Error('Expected nothing beside the stream.')
    },
    before: () => [],
    expert: () => {
      throw new Error('Expected an MLP.')
    },
    recur: () => {
      throw new Error('Expected attention.')
    },
  }
  const { hidden, activations } = decoderLayer(input('hidden', 'float32', ['N', 24]), scope)
  expect(hidden.shape).toEqual(['N', 24])
  expect(asked.filter((part) => part === 'rotate')).toHaveLength(2)
  expect(asked.filter((part) => linearNames.includes(part as LinearName)).toSorted()).toEqual(
    [...separateLinears].toSorted(),
  )
  for (const [given, wanted] of widths.values()) expect(given).toBe(wanted)
  expect(asked).not.toContain('self_attn.q_norm.weight')
  expect(Object.keys(activations)).toEqual(['query', 'key', 'value', 'mixed', 'attended', 'gate', 'up'])
})

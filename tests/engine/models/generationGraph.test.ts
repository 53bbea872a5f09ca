import { describe, expect, test } from 'vitest'
import { writeOnnx } from '#engine/graph/onnx.ts'
import { input, weight } from '#engine/graph/value.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { layerInputName, generationProgram } from '#engine/models/generationGraph.ts'
import { likeliestOfBlocks } from '#engine/models/tokenChoice.ts'
import { addLora, loraSlots } from '#engine/models/lora.ts'
import { expectedTensors } from '#engine/models/source.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { evaluate } from '../graph/evaluate.ts'
import { readOnnx } from '../graph/onnxReader.ts'
import { exampleConfig } from './exampleConfig.ts'

const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: ['q_proj', 'down_proj'] }
const shapes = new Map(expectedTensors(exampleConfig).map(({ name, shape }) => [name, shape]))
const vector = (name: string) =>
  weight(name, { file: '/nowhere/m.safetensors', offset: 0, byteLength: 0, shape: shapes.get(name)! })
const program = generationProgram(exampleConfig, lora, {
  vector,
  product: (x, name, factors) => {
    const y = matmul(x, vector(name), { transB: true })
    return factors ? addLora(y, x, factors) : y
  },
})
const model = readOnnx(writeOnnx('test', program).bytes)
const { kvHeads, headDim, layers, vocabSize } = exampleConfig

describe('the generation program', () => {
  test('takes caches in and gives only new keys and values out', () => {
    const inputs = new Map(model.inputs.map(({ name, dims }) => [name, dims]))
    for (let layer = 0; layer < layers; layer++) {
      expect(inputs.get(`key ${String(layer)}`)).toEqual(['B', kvHeads, 'P', headDim])
      expect(inputs.get(`value ${String(layer)}`)).toEqual(['B', kvHeads, 'P', headDim])
    }
    for (const { dims } of model.outputs) expect(dims).not.toContain('P')
    const fresh = ['new key 0', 'new value 0', 'new key 1', 'new value 1']
    expect(model.outputs.map(({ name }) => name)).toEqual([
      'logits',
      'probabilities',
      'best',
      'choice',
      ...fresh,
    ])
    expect(program['new key 1']?.shape).toEqual(['B', kvHeads, 'T', headDim])
  })

  test('nothing as long as a cache is concatenated: only scores are', () => {
    const joins = model.nodes.filter(({ type, attributes }) => type === 'Concat' && attributes['axis'] !== 0)
    // The last two join the columns of the best and of a choice.
    expect(joins.map(({ attributes }) => attributes['axis'])).toEqual([
      ...new Array<number>(layers).fill(3),
      1,
      1,
    ])
    for (const { inputs } of joins) {
      for (const name of inputs) expect(name).not.toMatch(/^(key|value) /)
    }
  })

  test('scores only the positions that are asked for', () => {
    expect(program['logits']?.shape).toEqual(['Q', vocabSize])
    const head = model.nodes.find(({ inputs }) => inputs.includes('lm_head.weight'))
    const norm = model.nodes.find(({ inputs }) => inputs.includes('model.norm.weight'))
    const tempered = model.nodes.find(({ outputs }) => outputs[0] === head?.inputs[0])
    expect(tempered?.inputs).toEqual([norm?.outputs[0], 'inverseTemperature'])
    expect(model.nodes.find(({ outputs }) => outputs[0] === norm?.inputs[0])?.type).toBe('Gather')
  })

  test('every layer has its own adapter inputs', () => {
    const expected = loraSlots(exampleConfig, lora).map(({ layer, input }) => layerInputName(layer, input))
    const names = model.inputs.map(({ name }) => name)
    expect(expected.filter((name) => !names.includes(name))).toEqual([])
    expect(new Set(names).size).toBe(names.length)
  })

  test('without an adapter has none', () => {
    const bare = generationProgram(exampleConfig, null, {
      vector,
      product: (x, name) => matmul(x, vector(name), { transB: true }),
    })
    const names = readOnnx(writeOnnx('test', bare).bytes).inputs.map(({ name }) => name)
    expect(names.filter((name) => name.includes('lora'))).toEqual([])
  })
})

test('the likeliest of blocks is the first of the largest probabilities, in whatever block', async () => {
  const [count, width] = [5, 4]
  const rows = [
    Array.from({ length: count * width }, (_, id) => (id * 7) % 20),
    Array.from({ length: count * width }, (_, id) => (id % 6 === 5 ? 0.5 : 0.25)), // 5, 11 and 17 are alike
    Array.from({ length: count * width }, () => 0.125),
    Array.from({ length: count * width }, (_, id) => Number(id === count * width - 1)),
  ]
  const best = likeliestOfBlocks(input('blocks', 'float32', ['B', count, width]))
  const { best: found } = await evaluate(
    { best },
    { blocks: { data: rows.flat(), dims: [rows.length, count, width] } },
  )
  const expected = rows.flatMap((row) => [row.indexOf(Math.max(...row)), Math.max(...row)])
  expect([...found!]).toEqual(expected)
})

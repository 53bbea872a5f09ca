import { expect, test } from 'vitest'
import type { Program } from '#engine/graph/onnx.ts'
import type { Dim } from '#engine/graph/shape.ts'
import { input, topologicalOrder, type Node, type OpNode, type Value } from '#engine/graph/value.ts'
import {
  attentionOf,
  linearNames,
  type LinearName,
  type LoraConfig,
  type ModelConfig,
} from '#engine/models/config.ts'
import { headPrograms, layerPrograms, type AttentionForm } from '#engine/models/learningGraphs.ts'
import { loraInputs } from '#engine/models/lora.ts'
import { layerTensors } from '#engine/models/source.ts'
import { conventionalFlops, expertElements, learningFlops } from '#engine/models/work.ts'
import { matmulAddOp, matmulOp } from '#engine/ops/matmul.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { exampleConfig } from './exampleConfig.ts'

/** One sequence of eight tokens: the block has four parts of two. */
const lengths: Record<string, number> = { B0: 1, B1: 1, B2: 1, B3: 1, N: 8, Q: 2 }

const size = (dims: readonly Dim[]): number =>
  dims
    .flatMap((dim) => String(dim).split('*'))
    .reduce((total, factor) => total * (lengths[factor] ?? Number(factor)), 1)

/** Operations of all matrix products that a program would run, once for each turn of its loops. */
const productsOf = (program: Program): number => productsIn(Object.values(program))

/** The queries and keys of three blocks: eight tokens, three at a time. */
const turns = [
  { q: 3, t: 3 },
  { q: 3, t: 6 },
  { q: 2, t: 8 },
]

function productsIn(values: readonly Value[]): number {
  const nodes = topologicalOrder(values, true)
  const loops = nodes.filter((node) => node.kind === 'loop')
  return loops.reduce((total, { body }) => {
    const ofTurns = turns.map((turn) => {
      Object.assign(lengths, turn)
      return productsIn([...body.next, ...body.stacked])
    })
    return ofTurns.reduce((sum, count) => sum + count, total)
  }, productsOutsideLoops(nodes))
}

function productsOutsideLoops(nodes: readonly Node[]): number {
  const products = nodes.filter(
    (node): node is OpNode => node.kind === 'op' && (node.op === matmulOp || node.op === matmulAddOp),
  )
  return products.reduce((total, { inputs, outputs, attributes }) => {
    const isTransposed = (attributes['transA'] as { int: number }).int === 1
    return total + 2 * size(outputs[0]!.shape) * size([inputs[0]!.shape.at(isTransposed ? -2 : -1)!])
  }, 0)
}

function layer(targets: readonly LinearName[], index: number, attention: AttentionForm = 'parts') {
  const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets }
  const adapter = loraInputs(exampleConfig, lora, 0)
  const weights = new Map(
    layerTensors(exampleConfig, 0).map(({ name, shape }) => [name, input(name, 'float32', shape)]),
  )
  const trained = [...adapter.values()].flatMap(({ a, b }) => [a, b])
  return layerPrograms(
    exampleConfig,
    { adapter, trained, weight: (path) => weights.get(path)!, matrix: (path) => weights.get(path)! },
    { layer: index, attention },
  )
}

test.each([
  { recompute: true, attention: 'parts' },
  { recompute: false, attention: 'parts' },
  { recompute: true, attention: 'blocks' },
  { recompute: false, attention: 'blocks' },
] as const)('the work is that of the graphs that run: %o', ({ recompute, attention }) => {
  const { hiddenSize, vocabSize, layers } = exampleConfig
  const head = headPrograms(exampleConfig, {
    vector: (name) => input(name, 'float32', [hiddenSize]),
    table: input('table', 'float32', [vocabSize, hiddenSize]),
  })
  let run = productsOf(head.learn)
  for (let index = 0; index < layers; index++) {
    const programs = layer(linearNames, index, attention)
    run += productsOf(programs.forward)
    run += productsOf(recompute ? programs.backward : programs.backwardFromSaved)
  }
  const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }
  const blocks = { longerThan: attention === 'blocks' ? 0 : Infinity, rows: 3 }
  const counted = learningFlops({ config: exampleConfig, lora, lengths: [8], recompute, blocks })
  expect(counted / run).toBeCloseTo(1, 9)
})

test('a token is as much work as the experts that are chosen for it', () => {
  const mixture = (chosen: number, count: number): ModelConfig => ({
    ...exampleConfig,
    linears: ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
    experts: {
      count,
      chosen,
      width: 20,
      sharedWidth: 0,
      weighed: 'all',
      form: 'apart',
      biased: false,
      clamp: null,
      layers: [true, true],
    },
  })
  const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: ['q_proj'] }
  const flops = (config: ModelConfig) => learningFlops({ config, lora, lengths: [8], recompute: true })
  const router = 3 * 2 * 2 * exampleConfig.hiddenSize * 8
  expect(flops(mixture(2, 9)) - flops(mixture(2, 8))).toBe(router)
  expect(flops(mixture(3, 8)) - flops(mixture(2, 8))).toBe(router * 3 * 20)
  expect(expertElements(mixture(3, 8)).idle).toBe(2 * 5 * 3 * 20 * exampleConfig.hiddenSize)
})

test.each([
  // Measured elsewhere with these shapes: 465 and 3009 GFLOP a step with layers computed again, 359 without.
  { shape: 'smol-30m', rows: 8, length: 256, recompute: true, gflops: 465 },
  { shape: 'smol-30m', rows: 8, length: 256, recompute: false, gflops: 359 },
  { shape: 'qwen2.5-0.5b', rows: 2, length: 512, recompute: true, gflops: 3009 },
] as const)('$shape as usually counted: $gflops', ({ shape, rows, length, recompute, gflops }) => {
  const { layers } = modelShapes[shape]
  const mixers = Array.from({ length: layers }, () => attentionOf(exampleConfig, 0))
  const config = { ...exampleConfig, ...modelShapes[shape], mixers }
  const lora: LoraConfig = { rank: 16, alpha: 32, rsLora: false, targets: linearNames }
  const lengths = new Array<number>(rows).fill(length)
  const work = { config, lora, lengths, recompute }
  expect(Math.round(conventionalFlops(work) / 1e9)).toBe(gflops)
  expect(learningFlops(work)).toBeLessThan(conventionalFlops(work))
})

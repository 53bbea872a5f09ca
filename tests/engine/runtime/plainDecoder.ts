/** A decoder in plain loops and f64, one token after the other, to compare the compiled programs with. */
import type { LinearName, LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { linearPath, loraScale } from '#engine/models/config.ts'
import type { ModelSource, NamedTensor } from '#engine/models/source.ts'
import type { ValueHead } from '#engine/models/learningGraphs.ts'
import { readTensor } from '#host/files/safetensors.ts'

export interface PlainModel {
  readonly source: ModelSource
  readonly adapter: readonly NamedTensor[]
  readonly lora: LoraConfig
}

interface Layer {
  readonly config: ModelConfig
  /** The tensor at a path within the layer; undefined where there is none. */
  tensor(path: string): ArrayLike<number> | undefined
  readonly scale: number
}

/** Value of the state after each token. */
export function plainValues(model: PlainModel, ids: Int32Array, { weight, bias }: ValueHead): number[] {
  const { config, tensors } = model.source
  const read = (name: string) => [...readTensor(tensors.get(name)!)]
  const table = read('model.embed_tokens.weight')
  const width = config.hiddenSize
  let hidden = Array.from(ids, (id) => table.slice(id * width, (id + 1) * width))
  for (let layer = 0; layer < config.layers; layer++) hidden = block(layerOf(model, layer), hidden)
  const norm = read('model.norm.weight')
  return hidden.map((x) => dot(rmsNorm(x, norm, config.normEpsilon), weight) + bias)
}

function layerOf({ source, adapter, lora }: PlainModel, layer: number): Layer {
  const known = new Map<string, ArrayLike<number>>(adapter.map(({ name, data }) => [name, data]))
  return {
    config: source.config,
    scale: loraScale(lora),
    tensor(path) {
      const name = `model.layers.${layer}.${path}`
      const location = source.tensors.get(name)
      if (!known.has(name) && location) known.set(name, readTensor(location))
      return known.get(name)
    },
  }
}

function block(layer: Layer, hidden: readonly number[][]): number[][] {
  const { config } = layer
  const normed = hidden.map((x) => norm(layer, 'input_layernorm', x))
  const queries = normed.map((x, position) => heads(layer, 'q', linear(layer, 'q_proj', x), position))
  const keys = normed.map((x, position) => heads(layer, 'k', linear(layer, 'k_proj', x), position))
  const values = normed.map((x) => split(linear(layer, 'v_proj', x), config.headDim))
  return hidden.map((x, position) => {
    const mixed = queries[position]!.flatMap((query, head) => {
      const shared = Math.floor(head / (config.heads / config.kvHeads))
      const seen = keys.slice(0, position + 1).map((key) => key[shared]!)
      const weights = softmax(seen.map((key) => dot(query, key) / Math.sqrt(config.headDim)))
      return query.map((_, at) => weights.reduce((sum, p, t) => sum + p * values[t]![shared]![at]!, 0))
    })
    const attended = plus(x, linear(layer, 'o_proj', mixed))
    const again = norm(layer, 'post_attention_layernorm', attended)
    const up = linear(layer, 'up_proj', again)
    const gated = linear(layer, 'gate_proj', again).map(
      (gate, at) => (gate / (1 + Math.exp(-gate))) * up[at]!,
    )
    return plus(attended, linear(layer, 'down_proj', gated))
  })
}

/** Heads of queries or keys: normed where the model does, turned by their position. */
function heads(layer: Layer, kind: 'q' | 'k', x: number[], position: number): number[][] {
  const { headDim, normEpsilon, ropes } = layer.config
  const rope = ropes[0]!
  const weight = layer.tensor(`self_attn.${kind}_norm.weight`)
  return split(x, headDim).map((head) => {
    const normed = weight ? rmsNorm(head, weight, normEpsilon) : head
    const half = headDim / 2
    return normed.map((value, at) => {
      const angle = position * rope.inverseFrequencies[at % half]!
      const other = at < half ? -normed[at + half]! : normed[at - half]!
      return rope.attentionFactor * (value * Math.cos(angle) + other * Math.sin(angle))
    })
  })
}

function linear(layer: Layer, name: LinearName, x: readonly number[]): number[] {
  const path = linearPath(name)
  const y = multiply(layer.tensor(`${path}.weight`)!, x)
  const bias = layer.tensor(`${path}.bias`)
  const a = layer.tensor(`${path}.lora_A`)
  const low = a ? multiply(layer.tensor(`${path}.lora_B`)!, multiply(a, x)) : null
  return y.map((value, at) => value + (bias?.[at] ?? 0) + (low ? layer.scale * low[at]! : 0))
}

const norm = (layer: Layer, path: string, x: readonly number[]): number[] =>
  rmsNorm(x, layer.tensor(`${path}.weight`)!, layer.config.normEpsilon)

function rmsNorm(x: readonly number[], weight: ArrayLike<number>, epsilon: number): number[] {
  const deviation = Math.sqrt(dot(x, x) / x.length + epsilon)
  return x.map((value, at) => (value / deviation) * weight[at]!)
}

/** W x; W [out, in] row by row. */
const multiply = (matrix: ArrayLike<number>, x: readonly number[]): number[] =>
  Array.from({ length: matrix.length / x.length }, (_, row) =>
    x.reduce((sum, value, at) => sum + value * matrix[row * x.length + at]!, 0),
  )

const dot = (a: readonly number[], b: ArrayLike<number>): number =>
  a.reduce((sum, value, at) => sum + value * b[at]!, 0)

const plus = (a: readonly number[], b: readonly number[]): number[] => a.map((value, at) => value + b[at]!)

const split = (x: readonly number[], size: number): number[][] =>
  Array.from({ length: x.length / size }, (_, part) => x.slice(part * size, (part + 1) * size))

function softmax(scores: readonly number[]): number[] {
  const largest = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - largest))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

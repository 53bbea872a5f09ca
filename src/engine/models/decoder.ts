/**
 * One decoder block, written once for all families, for learning and for generation.
 *
 * Reading order: config.ts (what a model says of itself) → common.ts and a family such as llama.ts → this file → lora.ts
 * (where adapters enter) → learningGraphs.ts and generationGraph.ts (the block in its two uses).
 */
import type { Dim } from '../graph/shape.ts'
import { type Value, constant, input } from '../graph/value.ts'
import { geglu, geluTanh, swiglu } from '../ops/activation.ts'
import { add, scale } from '../ops/arithmetic.ts'
import { reshape, splitSizes } from '../ops/layout.ts'
import { layerNorm, rmsNorm } from '../ops/normalization.ts'
import type { LinearName, ModelConfig } from './config.ts'

/** The parts in which uses of the block differ: where weights come from, and which keys a query attends to. */
export interface LayerScope {
  readonly config: ModelConfig
  /** A vector of the layer: `input_layernorm.weight`. */
  vector(path: string): Value
  /** Linear layer with its bias and adapter, if any. */
  linear(name: LinearName, x: Value): Value
  /** Rotates `heads` heads in the last axis by their positions. */
  rotate(x: Value, heads: number): Value
  /** Causal attention; q […, H·C], k and v […, K·C] → […, H·C]. */
  attend(q: Value, k: Value, v: Value): Value
}

export interface LayerResult {
  readonly hidden: Value
  /** The values from which the gradient can be computed without repeating the matrix products. */
  readonly activations: Readonly<Record<string, Value>>
}

interface Part {
  readonly output: Value
  readonly activations: Readonly<Record<string, Value>>
}

/** hidden […, D] → […, D]. */
export function decoderLayer(hidden: Value, layer: LayerScope): LayerResult {
  const { blockNorms } = layer.config
  const attention = attentionPart(normed(blockNorms.beforeAttention, hidden, layer), layer)
  const attended = addBranch(hidden, attention.output, blockNorms.afterAttention, layer)
  const mlp = mlpPart(normed(blockNorms.beforeMlp, attended, layer), layer)
  const output = addBranch(attended, mlp.output, blockNorms.afterMlp, layer)
  // A norm after a branch needs the branch's output for its gradient; otherwise that output is not needed.
  const branches = {
    ...(blockNorms.afterAttention === null ? {} : { 'attention output': attention.output }),
    ...(blockNorms.afterMlp === null ? {} : { 'mlp output': mlp.output }),
  }
  return {
    hidden: output,
    activations: { ...attention.activations, attended, ...mlp.activations, ...branches },
  }
}

function attentionPart(x: Value, layer: LayerScope): Part {
  const { heads, kvHeads } = layer.config
  const [q, k, value] = projections(x, layer)
  const query = layer.rotate(headNorm('q_norm', q, heads, layer), heads)
  const key = layer.rotate(headNorm('k_norm', k, kvHeads, layer), kvHeads)
  const mixed = layer.attend(query, key, value)
  const output = layer.linear(only(layer, 'o_proj', 'attn.c_proj'), mixed)
  return { output, activations: { query, key, value, mixed } }
}

function projections(x: Value, layer: LayerScope): readonly [Value, Value, Value] {
  const { linears, heads, kvHeads, headDim } = layer.config
  if (linears.includes('q_proj')) {
    return [layer.linear('q_proj', x), layer.linear('k_proj', x), layer.linear('v_proj', x)]
  }
  const joined = layer.linear(only(layer, 'qkv_proj', 'c_attn'), x)
  return splitSizes(joined, -1, [heads * headDim, kvHeads * headDim, kvHeads * headDim]) as [
    Value,
    Value,
    Value,
  ]
}

function mlpPart(x: Value, layer: LayerScope): Part {
  const { linears, activation, intermediateSize } = layer.config
  if (linears.includes('c_fc')) {
    const up = layer.linear('c_fc', x)
    return { output: layer.linear('mlp.c_proj', geluTanh(up)), activations: { up } }
  }
  const [gate, up] = linears.includes('gate_up_proj')
    ? (splitSizes(layer.linear('gate_up_proj', x), -1, [intermediateSize, intermediateSize]) as [
        Value,
        Value,
      ])
    : [layer.linear('gate_proj', x), layer.linear('up_proj', x)]
  const gated = activation === 'silu' ? swiglu(gate, up) : geglu(gate, up)
  return { output: layer.linear('down_proj', gated), activations: { gate, up } }
}

/** The one of the two that the model has. */
const only = ({ config }: LayerScope, first: LinearName, second: LinearName): LinearName =>
  config.linears.includes(first) ? first : second

function addBranch(stream: Value, branch: Value, norm: string | null, layer: LayerScope): Value {
  const { residualScale } = layer.config
  const output = normed(norm, branch, layer)
  return add(stream, residualScale === 1 ? output : scale(output, residualScale))
}

const normed = (path: string | null, x: Value, layer: LayerScope): Value =>
  path === null ? x : modelNorm(layer.config, x, path, (name) => layer.vector(name))

/** Norm of the model's kind along the last axis, with the weight `path.weight` and, where it has one, `path.bias`. */
export function modelNorm(
  { norm, normEpsilon }: ModelConfig,
  x: Value,
  path: string,
  vector: (name: string) => Value,
): Value {
  const weight = vector(`${path}.weight`)
  switch (norm) {
    case 'rms':
      return rmsNorm(x, weight, normEpsilon)
    case 'rms-offset':
      return rmsNorm(x, add(weight, constant([1], [1])), normEpsilon)
    case 'layer':
      return layerNorm(x, { weight, bias: vector(`${path}.bias`), epsilon: normEpsilon })
  }
}

/** Norm of q or k before rotation, where the model has one. x […, H·C]. */
function headNorm(name: string, x: Value, heads: number, layer: LayerScope): Value {
  const { qkNorm, headDim } = layer.config
  const path = `self_attn.${name}`
  if (qkNorm === 'none') return x
  if (qkNorm === 'all') return normed(path, x, layer)
  const lead: readonly Dim[] = x.shape.slice(0, -1)
  const split = reshape(x, [...lead, heads, headDim])
  return reshape(normed(path, split, layer), x.shape)
}

interface EmbeddingInputs {
  /** [N] */
  readonly ids: Value
  /** [N] */
  readonly positions: Value
}

/** Graph inputs `ids` and `positions`. */
const packedInputs = (): EmbeddingInputs => ({
  ids: input('ids', 'int64', ['N']),
  positions: input('positions', 'int64', ['N']),
})

/** The input of the first layer: [N, D] from ids and, if positions are learned, from those. */
export function embeddingValue(
  { names, embeddingScale }: ModelConfig,
  rowsOf: (name: string, ids: Value) => Value,
  { ids, positions }: EmbeddingInputs = packedInputs(),
): Value {
  const rows = rowsOf(names.embedding, ids)
  const scaled = embeddingScale === 1 ? rows : scale(rows, embeddingScale)
  if (names.positions === null) return scaled
  return add(scaled, rowsOf(names.positions, positions))
}

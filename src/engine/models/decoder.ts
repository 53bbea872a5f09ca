/**
 * One decoder block, written once for all families, for learning and for generation.
 *
 * Reading order: config.ts (what a model says of itself) → common.ts and a family such as llama.ts → this file → lora.ts
 * (where adapters enter) → learningGraphs.ts and generationGraph.ts (the block in its two uses).
 */
import type { Dim } from '../graph/shape.ts'
import { type Value, constant, input } from '../graph/value.ts'
import { geglu, geluTanh, reluSquared, sigmoid, swiglu } from '../ops/activation.ts'
import { add, mul, scale } from '../ops/arithmetic.ts'
import { reshape, split, splitSizes } from '../ops/layout.ts'
import { layerNorm, rmsNorm } from '../ops/normalization.ts'
import { shortConvolution } from '../ops/shortConvolution.ts'
import type { LinearName, ModelConfig, ShortConvolution } from './config.ts'
import { deltaPart } from './deltaPart.ts'
import { expertPart } from './expertPart.ts'
import type { LayerResult, LayerScope, Part } from './layerScope.ts'
import { kernelNames } from './source.ts'

/** hidden […, D] → […, D]. */
export function decoderLayer(hidden: Value, layer: LayerScope): LayerResult {
  const { blockNorms } = layer.config
  const mixer = mixerPart(normed(blockNorms.beforeAttention, hidden, layer), layer)
  const attended = addBranch(hidden, mixer.output, blockNorms.afterAttention, layer)
  const mlp = mlpPart(normed(blockNorms.beforeMlp, attended, layer), layer)
  const output = addBranch(attended, mlp.output, blockNorms.afterMlp, layer)
  // A norm after a branch needs the branch's output for its gradient; otherwise that output is not needed.
  const branches = {
    ...(blockNorms.afterAttention === null ? {} : { 'attention output': mixer.output }),
    ...(blockNorms.afterMlp === null ? {} : { 'mlp output': mlp.output }),
  }
  return {
    hidden: output,
    activations: { ...mixer.activations, attended, ...mlp.activations, ...branches },
  }
}

function mixerPart(x: Value, layer: LayerScope): Part {
  const { mixer } = layer
  switch (mixer.kind) {
    case 'attention':
      return attentionPart(x, layer)
    case 'convolution':
      return convolutionPart(x, mixer, layer)
    case 'delta':
      return deltaPart(x, mixer, layer)
  }
}

/** Two gates around a convolution over few positions. Liquid AI 2025, arXiv:2511.23404, §2. */
function convolutionPart(x: Value, { kernel, bias }: ShortConvolution, layer: LayerScope): Part {
  const projected = layer.linear('in_proj', x)
  const [before, after, value] = split(projected, -1, 3) as [Value, Value, Value]
  const gated = mul(before, value)
  const taps = [gated, ...layer.before(gated, kernel - 1)]
  const convolved = shortConvolution(taps, layer.vector(kernelNames.weight))
  const mixed = mul(after, bias ? add(convolved, layer.vector(kernelNames.bias)) : convolved)
  return { output: layer.linear('conv.out_proj', mixed), activations: { projected, mixed } }
}

function attentionPart(x: Value, layer: LayerScope): Part {
  const [projected, k, value] = projections(x, layer)
  const { query: q, gate } = withoutGate(projected, layer)
  const [query, key] = [turned(q, 'query', layer), turned(k, 'key', layer)]
  const mixed = layer.attend(query, key, value)
  const gated = gate === null ? mixed : mul(mixed, sigmoid(gate))
  const output = layer.linear(theOne(layer, ['o_proj', 'attn.c_proj', 'self_attn.out_proj']), gated)
  return { output, activations: { query, key, value, mixed, ...(gate !== null && { gate }) } }
}

/** Takes the gates of the heads apart from their queries, behind each of which they stand. */
function withoutGate(
  projected: Value,
  { config }: LayerScope,
): { readonly query: Value; readonly gate: Value | null } {
  const { heads, headDim, attentionGate } = config
  if (!attentionGate) return { query: projected, gate: null }
  const lead: readonly Dim[] = projected.shape.slice(0, -1)
  const parts = split(reshape(projected, [...lead, heads, 2 * headDim]), -1, 2)
  const [query, gate] = parts.map((part) => reshape(part, [...lead, heads * headDim]))
  return { query: query as Value, gate: gate as Value }
}

/** Heads of q or k, normed where the model does and rotated. */
function turned(x: Value, kind: 'query' | 'key', layer: LayerScope): Value {
  const { heads, kvHeads, names, qkNorm } = layer.config
  const [count, path] = kind === 'query' ? [heads, names.queryNorm] : [kvHeads, names.keyNorm]
  return qkNorm === 'rotated-head'
    ? headNorm(path, layer.rotate(x, count, kind), count, layer)
    : layer.rotate(headNorm(path, x, count, layer), count, kind)
}

function projections(x: Value, layer: LayerScope): readonly [Value, Value, Value] {
  const { linears, heads, kvHeads, headDim } = layer.config
  if (linears.includes('q_proj')) {
    return [layer.linear('q_proj', x), layer.linear('k_proj', x), layer.linear('v_proj', x)]
  }
  const joined = layer.linear(theOne(layer, ['qkv_proj', 'c_attn']), x)
  return splitSizes(joined, -1, [heads * headDim, kvHeads * headDim, kvHeads * headDim]) as [
    Value,
    Value,
    Value,
  ]
}

function mlpPart(x: Value, layer: LayerScope): Part {
  if (layer.experts !== null) return expertPart(x, layer.experts, layer)
  const { linears, activation, intermediateSize } = layer.config
  const down = theOne(layer, ['down_proj', 'mlp.c_proj', 'w2'])
  if (!gates.some((gate) => linears.includes(gate))) {
    const up = layer.linear(theOne(layer, ['up_proj', 'c_fc']), x)
    const activated = activation === 'gelu-tanh' ? geluTanh(up) : reluSquared(up)
    return { output: layer.linear(down, activated), activations: { up } }
  }
  const [gate, up] = linears.includes('gate_up_proj')
    ? (splitSizes(layer.linear('gate_up_proj', x), -1, [intermediateSize, intermediateSize]) as [
        Value,
        Value,
      ])
    : [layer.linear(theOne(layer, ['gate_proj', 'w1']), x), layer.linear(theOne(layer, ['up_proj', 'w3']), x)]
  const gated = activation === 'silu' ? swiglu(gate, up) : geglu(gate, up)
  return { output: layer.linear(down, gated), activations: { gate, up } }
}

const gates: readonly LinearName[] = ['gate_proj', 'gate_up_proj', 'w1']

/** The one of these that the model has. */
function theOne({ config }: LayerScope, names: readonly LinearName[]): LinearName {
  const name = names.find((candidate) => config.linears.includes(candidate))
  if (name === undefined) throw new Error(`Expected the model to have ${names.join(' or ')}.`)
  return name
}

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

/** Norm of q or k, where the model has one. x […, H·C]. */
function headNorm(path: string, x: Value, heads: number, layer: LayerScope): Value {
  const { qkNorm, headDim } = layer.config
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

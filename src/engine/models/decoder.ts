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
import { reshape, split, splitSizes, transpose } from '../ops/layout.ts'
import { matmul } from '../ops/matmul.ts'
import { layerNorm, rmsNorm } from '../ops/normalization.ts'
import { shortConvolution } from '../ops/shortConvolution.ts'
import {
  fusedGates,
  hasGate,
  headShape,
  isBeside,
  type LinearName,
  type ModelConfig,
  type ShortConvolution,
} from './config.ts'
import { deltaPart } from './deltaPart.ts'
import type { Experts } from './expertConfig.ts'
import { expertPart } from './expertPart.ts'
import { statePart } from './statePart.ts'
import type { LayerResult, LayerScope, Part } from './layerScope.ts'
import { blockScaleName, kernelNames, layerInputNorm, sharedGatePath, sinksPath } from './source.ts'

/** hidden […, D] → […, D]. */
export function decoderLayer(hidden: Value, layer: LayerScope): LayerResult {
  const { blockNorms } = layer.config
  const mixer = mixerPart(normed(blockNorms.beforeAttention, hidden, layer), layer)
  const attended = addBranch(hidden, mixer.output, blockNorms.afterAttention, layer)
  const mlp = mlpPart(normed(blockNorms.beforeMlp, attended, layer), layer)
  const inner = addBranch(attended, mlp.output, blockNorms.afterMlp, layer)
  const brought = layer.config.layerChannels > 0 ? layerInputPart(inner, layer) : null
  const stream = brought ? addBranch(inner, brought.output, layerInputNorm, layer) : inner
  const output = layer.config.scalesLayers ? mul(stream, layer.vector(blockScaleName)) : stream
  // A norm after a branch needs the branch's output for its gradient; otherwise that output is not needed.
  const branches = {
    ...(blockNorms.afterAttention === null ? {} : { 'attention output': mixer.output }),
    ...(blockNorms.afterMlp === null ? {} : { 'mlp output': mlp.output }),
  }
  return {
    hidden: output,
    activations: { ...mixer.activations, attended, ...mlp.activations, ...branches, ...brought?.activations },
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
    case 'state':
      return statePart(x, mixer, layer)
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
  const { query: projected, keys } = projections(x, layer)
  const { query: q, gate } = withoutGate(projected, layer)
  const query = turned(q, 'query', layer)
  const { key, value } = keys
    ? { key: turned(keys.key, 'key', layer), value: valueNorm(keys.value, layer) }
    : layer.earlierKeys()
  const mixed = layer.attend(query, key, value, layer.config.hasSinks ? layer.vector(sinksPath) : null)
  const gated = gate === null ? mixed : mul(mixed, sigmoid(gate))
  const output = layer.linear(theOne(layer, ['o_proj', 'attn.c_proj', 'self_attn.out_proj']), gated)
  const own = keys && { key, value }
  return { output, activations: { query, ...own, mixed, ...(gate !== null && { 'attention gate': gate }) } }
}

/** The MLP's way once more, narrow, with what the token brings in the place of the up projection. Gemma Team 2025, Gemma 3n. */
function layerInputPart(x: Value, layer: LayerScope): Part {
  const gate = layer.linear('per_layer_input_gate', x)
  const output = layer.linear('per_layer_projection', geglu(gate, layer.layerInput()))
  return { output, activations: { 'gate of input': gate, 'input output': output } }
}

/** Takes the gates of the heads apart from their queries, behind each of which they stand. */
function withoutGate(
  projected: Value,
  { config, mixer }: LayerScope,
): { readonly query: Value; readonly gate: Value | null } {
  const { attentionGate } = config
  const { heads, headDim } = headShape(config, mixer)
  if (!attentionGate) return { query: projected, gate: null }
  const lead: readonly Dim[] = projected.shape.slice(0, -1)
  const parts = split(reshape(projected, [...lead, heads, 2 * headDim]), -1, 2)
  const [query, gate] = parts.map((part) => reshape(part, [...lead, heads * headDim]))
  return { query: query as Value, gate: gate as Value }
}

/** Heads of q or k, normed where the model does and rotated. */
function turned(x: Value, kind: 'query' | 'key', layer: LayerScope): Value {
  const { names, qkNorm } = layer.config
  const { heads, kvHeads } = headShape(layer.config, layer.mixer)
  const [count, path] = kind === 'query' ? [heads, names.queryNorm] : [kvHeads, names.keyNorm]
  return qkNorm === 'rotated-head'
    ? headNorm(path, layer.rotate(x, count, kind), count, layer)
    : layer.rotate(headNorm(path, x, count, layer), count, kind)
}

interface Projections {
  readonly query: Value
  /** null where the layer reads those of another. */
  readonly keys: { readonly key: Value; readonly value: Value } | null
}

function projections(x: Value, layer: LayerScope): Projections {
  const { config, mixer } = layer
  if (config.linears.includes('q_proj')) {
    const query = layer.linear('q_proj', x)
    if (mixer.kind === 'attention' && mixer.keysOf !== undefined) return { query, keys: null }
    const key = layer.linear('k_proj', x)
    const isBoth = mixer.kind === 'attention' && mixer.valuesAreKeys === true
    return { query, keys: { key, value: isBoth ? key : layer.linear('v_proj', x) } }
  }
  const { heads, kvHeads, headDim } = headShape(config, mixer)
  const joined = layer.linear(theOne(layer, ['qkv_proj', 'c_attn']), x)
  const sizes = [heads * headDim, kvHeads * headDim, kvHeads * headDim]
  const [query, key, value] = splitSizes(joined, -1, sizes) as [Value, Value, Value]
  return { query, keys: { key, value } }
}

function mlpPart(x: Value, layer: LayerScope): Part {
  if (layer.experts === null) return ownMlp(x, layer)
  const chosen = expertPart(x, layer.experts, layer)
  const shared = sharedPart(x, layer.experts, layer)
  if (shared === null) return chosen
  const named = Object.entries(shared.activations).map(([name, value]) => [`shared ${name}`, value] as const)
  return {
    output: add(chosen.output, shared.output),
    activations: { ...chosen.activations, ...Object.fromEntries(named) },
  }
}

/** Branch that all tokens go through beside a mixture: an MLP, or an expert behind a gate; null where there is neither. */
function sharedPart(x: Value, { sharedWidth }: Experts, layer: LayerScope): Part | null {
  if (layer.config.linears.some(isBeside)) return ownMlp(x, layer)
  if (sharedWidth === 0) return null
  const gate = layer.linear('shared_expert.gate_proj', x)
  const up = layer.linear('shared_expert.up_proj', x)
  const output = layer.linear('shared_expert.down_proj', swiglu(gate, up))
  const share = sigmoid(matmul(x, layer.vector(sharedGatePath), { transB: true }))
  return { output: mul(share, output), activations: { gate, up, output } }
}

function ownMlp(x: Value, layer: LayerScope): Part {
  const { linears, activation, intermediateSize } = layer.config
  const down = theOne(layer, ['down_proj', 'mlp.c_proj', 'w2', 'shared_mlp.output_linear'])
  if (!hasGate(layer.config)) {
    const up = layer.linear(theOne(layer, ['up_proj', 'c_fc']), x)
    const activated = activation === 'gelu-tanh' ? geluTanh(up) : reluSquared(up)
    return { output: layer.linear(down, activated), activations: { up } }
  }
  const both = fusedGates.find((name) => linears.includes(name))
  const [gate, up] = both
    ? (splitSizes(layer.linear(both, x), -1, [intermediateSize, intermediateSize]) as [Value, Value])
    : [layer.linear(theOne(layer, ['gate_proj', 'w1']), x), layer.linear(theOne(layer, ['up_proj', 'w3']), x)]
  const gated = activation === 'silu' ? swiglu(gate, up) : geglu(gate, up)
  return { output: layer.linear(down, gated), activations: { gate, up } }
}

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
  const { qkNorm } = layer.config
  if (qkNorm === 'none') return x
  if (qkNorm === 'all') return normed(path, x, layer)
  return reshape(normed(path, byHead(x, heads, layer), layer), x.shape)
}

/** Norm of each head of the values, where the model has one. x […, K·C]. */
function valueNorm(x: Value, layer: LayerScope): Value {
  const { config, mixer } = layer
  if (!config.normsValues) return x
  const { kvHeads, headDim } = headShape(config, mixer)
  const ones = constant(new Array<number>(headDim).fill(1), [headDim])
  return reshape(rmsNorm(byHead(x, kvHeads, layer), ones, config.normEpsilon), x.shape)
}

/** […, H·C] → […, H, C] */
function byHead(x: Value, heads: number, { config, mixer }: LayerScope): Value {
  const lead: readonly Dim[] = x.shape.slice(0, -1)
  return reshape(x, [...lead, heads, headShape(config, mixer).headDim])
}

interface EmbeddingInputs {
  /** [N] */
  readonly ids: Value
  /** [N] */
  readonly positions: Value
}

/** Graph inputs `ids` and `positions`. */
export const packedInputs = (): EmbeddingInputs => ({
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

/**
 * Inputs of tokens into each layer beside the stream, [L, N, P]: rows of a table of their own, and a projection of their
 * embedding `hidden` [N, D]. `weightOf` gives a tensor by its full name. null where they bring nothing.
 */
export function layerInputs(
  { names, layers, layerChannels: channels, hiddenSize, normEpsilon }: ModelConfig,
  { hidden, ids }: { readonly hidden: Value; readonly ids: Value },
  {
    rowsOf,
    weightOf,
  }: { readonly rowsOf: (name: string, ids: Value) => Value; readonly weightOf: (name: string) => Value },
): Value | null {
  if (names.layerInputs === undefined) return null
  const { table, projection, norm } = names.layerInputs
  const parts = (x: Value) => reshape(x, [...ids.shape, layers, channels])
  const own = scale(parts(rowsOf(table, ids)), Math.fround(Math.sqrt(channels)))
  const alpha = hiddenSize ** -0.5
  const projected = parts(matmul(hidden, weightOf(projection), { transB: true, alpha }))
  const both = add(rmsNorm(projected, weightOf(`${norm}.weight`), normEpsilon), own)
  return transpose(scale(both, Math.SQRT1_2), [1, 0, 2])
}

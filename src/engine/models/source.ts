import {
  type DeltaRule,
  type LayerAttention,
  type ModelConfig,
  type LinearName,
  deltaWidth,
  headShape,
  linearPath,
  linearShape,
  linearsOf,
} from './config.ts'

export type TensorDtype = 'F32' | 'F16' | 'BF16' | 'U8'

/** Types of GGUF files whose numbers are integers in blocks with scales. Never in a source that is computed with. */
export const quantizedDtypes = [
  'Q4_0',
  'Q4_1',
  'Q5_0',
  'Q5_1',
  'Q8_0',
  'Q4_K',
  'Q5_K',
  'Q6_K',
  'IQ4_NL',
] as const
export type QuantizedDtype = (typeof quantizedDtypes)[number]

/**
 * Difference between a file's bytes and the tensor used in computation; absent in a source that is computed with.
 * `transposed`: the two axes are swapped, as in GPT-2's Conv1D. `interleaved`: the rows of each of `heads` heads are in
 * the order in which llama.cpp rotates them. `one-added`: a norm's weight as the factor, where the model stores offsets
 * from 1. `tiled`: see `TiledHeads`.
 */
export type Arrangement =
  | { readonly kind: 'transposed' | 'one-added' }
  | { readonly kind: 'interleaved'; readonly heads: number }
  | TiledHeads

/** Heads of values in the order in which llama.cpp repeats keys, one of each key head after the other; here those of one key head are neighbours. */
export interface TiledHeads {
  readonly kind: 'tiled'
  readonly axis: 'rows' | 'columns'
  /** Rows or columns before the values, which stay. */
  readonly first: number
  readonly keyHeads: number
  readonly valueHeads: number
  /** True if the file has −exp of the numbers. */
  readonly isRate?: boolean
}

/** Place of a tensor's bytes on disk: row-major, little-endian. */
export interface TensorLocation {
  /** Absolute path of the file, links resolved. */
  readonly file: string
  /** Bytes from the start of the file. */
  readonly offset: number
  readonly byteLength: number
  readonly dtype: TensorDtype | QuantizedDtype
  /** Shape in which the tensor is computed with. */
  readonly shape: readonly number[]
  /** Difference between bytes and tensor; absent: the bytes are the tensor's. */
  readonly arrangement?: Arrangement
}

/** A model on disk whose config and every tensor were checked against each other. */
export interface ModelSource {
  readonly directory: string
  readonly config: ModelConfig
  /** Hugging Face names (`model.layers.0.self_attn.q_proj.weight`) → location. */
  readonly tensors: ReadonlyMap<string, TensorLocation>
}

/** A tensor in memory, row-major. */
export interface NamedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array
}

export interface ExpectedTensor {
  readonly name: string
  /** The shape as it is computed with; in the file of a transposed one, the two axes are swapped. */
  readonly shape: readonly number[]
  readonly isTransposed?: boolean
}

/** `model.layers.3.`: the prefix of a layer's names. */
export const layerPrefix = ({ names }: ModelConfig, layer: number): string => `${names.layers}${layer}.`

/** `model.layers.3.mlp.up_proj.weight` */
export const linearWeightName = (config: ModelConfig, layer: number, linear: LinearName): string =>
  `${layerPrefix(config, layer)}${linearPath(linear)}.weight`

/** The tensor whose rows are the vocabulary projection: the head's own, or the embedding it shares. */
export const headWeightName = ({ tiedHead, names }: ModelConfig): string =>
  tiedHead ? names.embedding : names.head

/** The final norm's vectors. */
export const finalNormNames = (config: ModelConfig): string[] => normNames(config, config.names.finalNorm)

/** A norm's vectors: its weight, and its bias where it has one. */
const normNames = ({ norm }: ModelConfig, path: string): string[] =>
  norm === 'layer' ? [`${path}.weight`, `${path}.bias`] : [`${path}.weight`]

/** Lists every tensor of a checkpoint with this config, under its Hugging Face name; linears as [out, in]. */
export function expectedTensors(config: ModelConfig): ExpectedTensor[] {
  const { hiddenSize, vocabSize, maxPositions, names } = config
  const table = [vocabSize, hiddenSize] as const // [V, D]
  const tensors: ExpectedTensor[] = [{ name: names.embedding, shape: table }]
  if (names.layerInputs !== undefined) {
    const { table, projection, norm } = names.layerInputs
    const width = config.layers * config.layerChannels
    tensors.push({ name: table, shape: [vocabSize, width] })
    tensors.push({ name: projection, shape: [width, hiddenSize] })
    tensors.push({ name: `${norm}.weight`, shape: [config.layerChannels] })
  }
  if (names.positions !== null) tensors.push({ name: names.positions, shape: [maxPositions, hiddenSize] })
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(config, layer)
    tensors.push(
      ...layerTensors(config, layer).map((tensor) => ({ ...tensor, name: `${prefix}${tensor.name}` })),
    )
  }
  tensors.push(...finalNormNames(config).map((name) => ({ name, shape: [hiddenSize] })))
  if (!config.tiedHead) tensors.push({ name: names.head, shape: table })
  return tensors
}

/** The tensors of a layer, named as below its prefix: `self_attn.q_proj.weight`. Those of two axes are matrices. */
export function layerTensors(config: ModelConfig, layer: number): ExpectedTensor[] {
  const { hiddenSize, blockNorms, transposedLinears } = config
  const { beforeAttention, afterAttention, beforeMlp, afterMlp } = blockNorms
  const norms = [beforeAttention, afterAttention, beforeMlp, afterMlp]
    .flatMap((path) => (path === null ? [] : normNames(config, path)))
    .map((name) => ({ name, shape: [hiddenSize] }))
  if (config.layerChannels > 0) norms.push({ name: `${layerInputNorm}.weight`, shape: [hiddenSize] })
  if (config.scalesLayers) norms.push({ name: blockScaleName, shape: [1] })
  const linears = linearsOf(config, layer).flatMap((linear) => {
    const [out, input] = linearShape(config, linear, layer)
    const weight = { name: `${linearPath(linear)}.weight`, shape: [out, input] }
    const stored = transposedLinears ? { ...weight, isTransposed: true } : weight
    const bias = { name: `${linearPath(linear)}.bias`, shape: [out] }
    return config.biases[linear] === true ? [stored, bias] : [stored]
  })
  return [...norms, ...mixerTensors(config, layer), ...linears]
}

/** Norm behind what a token brings into a layer, without `.weight`; and the number that a block's result is multiplied with. */
export const layerInputNorm = 'post_per_layer_input_norm'
export const blockScaleName = 'layer_scalar'

/** Kernel of a short convolution, named as in its module. */
export const kernelNames = { weight: 'conv.conv.weight', bias: 'conv.conv.bias' } as const

function mixerTensors(config: ModelConfig, layer: number): ExpectedTensor[] {
  const mixer = config.mixers[layer]
  if (mixer?.kind === 'delta') return deltaTensors(mixer)
  if (mixer?.kind !== 'convolution') return headNorms(config, mixer)
  const weight = { name: kernelNames.weight, shape: [config.hiddenSize, 1, mixer.kernel] }
  return mixer.bias ? [weight, { name: kernelNames.bias, shape: [config.hiddenSize] }] : [weight]
}

/** Vectors of linear attention, named as in its module. */
export const deltaNames = {
  kernel: 'linear_attn.conv1d.weight',
  norm: 'linear_attn.norm.weight',
  /** log of the rate at which a head forgets, and what is added to in_proj_a. */
  rate: 'linear_attn.A_log',
  step: 'linear_attn.dt_bias',
} as const

const deltaTensors = (mixer: DeltaRule): ExpectedTensor[] => [
  { name: deltaNames.kernel, shape: [deltaWidth(mixer), 1, mixer.kernel] },
  { name: deltaNames.norm, shape: [mixer.valueDim] },
  { name: deltaNames.rate, shape: [mixer.valueHeads] },
  { name: deltaNames.step, shape: [mixer.valueHeads] },
]

function headNorms(config: ModelConfig, mixer: LayerAttention | undefined): ExpectedTensor[] {
  const { qkNorm, names } = config
  if (qkNorm === 'none') return []
  const { heads, kvHeads, headDim } = headShape(config, mixer)
  const [queries, keys] = qkNorm === 'all' ? [heads, kvHeads] : [1, 1]
  const query = { name: `${names.queryNorm}.weight`, shape: [queries * headDim] }
  if (mixer?.keysOf !== undefined) return [query]
  return [query, { name: `${names.keyNorm}.weight`, shape: [keys * headDim] }]
}

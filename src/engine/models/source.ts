import {
  type DeltaRule,
  type LayerAttention,
  type ModelConfig,
  type LinearName,
  type StateSpace,
  recurrentWidth,
  headShape,
  linearPath,
  linearShape,
  linearsOf,
} from './config.ts'
import { expertsOf, type Experts } from './expertConfig.ts'

export type TensorDtype = 'F32' | 'F16' | 'BF16' | 'U8'

/** Types of files whose numbers are few bits in blocks with scales. Never in a source that is computed with. */
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
  'MXFP4',
] as const
export type QuantizedDtype = (typeof quantizedDtypes)[number]

/**
 * Difference between a file's bytes and the tensor used in computation; absent in a source that is computed with.
 * `transposed`: the two axes are swapped, as in GPT-2's Conv1D. `interleaved`: the rows of each of `heads` heads are in
 * the order in which llama.cpp rotates them. `one-added`: a norm's weight as the factor, where the model stores offsets
 * from 1. `tiled`: see `TiledHeads`. `every-second`: see `EverySecond`.
 */
export type Arrangement =
  | { readonly kind: 'transposed' | 'one-added' }
  | { readonly kind: 'interleaved'; readonly heads: number }
  | EverySecond
  | TiledHeads

/** Every second row of another tensor, from the first (0) or the second (1) on. */
export interface EverySecond {
  readonly kind: 'every-second'
  readonly first: number
  readonly whole: TensorLocation
}

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
  /**
   * Place of the scales of MXFP4 blocks, a byte each, where they are a tensor of their own, as in safetensors; a byte of such
   * blocks holds two neighbours. Absent: they are in the blocks.
   */
  readonly scales?: { readonly file: string; readonly offset: number }
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
  /** True for a table of two axes that stays in f32 whatever the matrices are held in. */
  readonly isExact?: boolean
  /** The tensor of the file that it is a part of; absent: it is there by itself. */
  readonly stack?: Stack
}

/** A file's tensor [count, …] of several of the model's, one after the other. */
export interface Stack {
  readonly name: string
  readonly count: number
  readonly index: number
}

/** Name of the file's tensor that it is, or is a part of. */
export const storedName = ({ name, stack }: ExpectedTensor): string => stack?.name ?? name

/** Shape in the file, of its own part where several are stacked. */
export const storedShape = ({ shape, isTransposed = false }: ExpectedTensor): readonly number[] =>
  isTransposed ? shape.toReversed() : shape

/** True for the weight of a linear layer, which may be rounded. */
export const isMatrix = ({ shape, isExact = false }: Pick<ExpectedTensor, 'shape' | 'isExact'>): boolean =>
  shape.length === 2 && !isExact

/** `model.layers.3.`: the prefix of a layer's names. */
export const layerPrefix = ({ names }: ModelConfig, layer: number): string => `${names.layers}${layer}.`

/** `model.layers.3.mlp.up_proj.weight` */
export const linearWeightName = (config: ModelConfig, layer: number, linear: LinearName): string =>
  `${layerPrefix(config, layer)}${linearPath(linear)}.weight`

/** The tensor whose rows are the vocabulary projection: the head's own, or the embedding it shares. */
export const headWeightName = ({ tiedHead, names }: ModelConfig): string =>
  tiedHead ? names.embedding : names.head

export const finalNormNames = (config: ModelConfig): string[] => normNames(config, config.names.finalNorm)

/** A norm's vectors: its weight, and its bias where it has one. */
const normNames = ({ norm }: ModelConfig, path: string): string[] =>
  norm === 'layer' ? [`${path}.weight`, `${path}.bias`] : [`${path}.weight`]

/** Lists the tensors of a checkpoint's files, those that it stacks as one. */
export const storedTensors = (config: ModelConfig): ExpectedTensor[] =>
  expectedTensors(config).flatMap((tensor) => {
    const { stack } = tensor
    if (stack === undefined) return [tensor]
    return stack.index === 0 ? [{ name: stack.name, shape: [stack.count, ...storedShape(tensor)] }] : []
  })

/** Lists every tensor that a model with this config is computed with, under its Hugging Face name; linears as [out, in]. */
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
      ...layerTensors(config, layer).map(({ name, stack, ...tensor }) => ({
        ...tensor,
        name: `${prefix}${name}`,
        ...(stack && { stack: { ...stack, name: `${prefix}${stack.name}` } }),
      })),
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
  return [...norms, ...mixerTensors(config, layer), ...linears, ...expertTensors(config, layer)]
}

/** Matrices of a mixture of experts, named as below their layer. */
export interface ExpertPaths {
  /** [E, D]: the score of each expert. */
  readonly router: string
  /** Matrices that read the token, [F, D] each, gate first; or both in one, [2·F, D]. */
  readonly gates: readonly ((expert: number) => string)[]
  /** [D, F] */
  readonly down: (expert: number) => string
  /** Tables of biases, [E, F] of each of the gates or [E, 2·F], and [E, D]; absent where there are none. */
  readonly biases?: { readonly gates: readonly string[]; readonly down: string }
}

/** Name of the router's bias, [E]. */
export const routerBias = (router: string): string => router.replace(/weight$/, 'bias')

const routerPath = 'mlp.gate.weight'

const downBias = 'mlp.experts.down_proj_bias'

/** Names of stacked matrices in transformers. */
const inTransformers = {
  gates: [(expert: number) => `mlp.experts.${String(expert)}.gate_up_proj`],
  down: (expert: number) => `mlp.experts.${String(expert)}.down_proj`,
} as const

export const expertPaths: Readonly<Record<Experts['form'], ExpertPaths>> = {
  apart: {
    router: routerPath,
    gates: [
      (expert) => `mlp.experts.${String(expert)}.gate_proj.weight`,
      (expert) => `mlp.experts.${String(expert)}.up_proj.weight`,
    ],
    down: (expert) => `mlp.experts.${String(expert)}.down_proj.weight`,
    biases: {
      gates: ['mlp.experts.gate_proj_bias', 'mlp.experts.up_proj_bias'],
      down: downBias,
    },
  },
  stacked: {
    router: 'block_sparse_moe.router.layer.weight',
    gates: [(expert) => `block_sparse_moe.input_linear.${String(expert)}.weight`],
    down: (expert) => `block_sparse_moe.output_linear.${String(expert)}.weight`,
  },
  fused: { router: routerPath, ...inTransformers },
  paired: {
    router: 'mlp.router.weight',
    ...inTransformers,
    biases: { gates: ['mlp.experts.gate_up_proj_bias'], down: downBias },
  },
}

/** [1, D]: how much a token takes of the expert that all go through. */
export const sharedGatePath = 'mlp.shared_expert_gate.weight'

/** Output and input width of the matrices of an expert. */
export const expertShapes = ({ form, width }: Experts, hiddenSize: number) => ({
  gate: [form === 'apart' ? width : 2 * width, hiddenSize] as const,
  down: [hiddenSize, width] as const,
})

function expertTensors(config: ModelConfig, layer: number): ExpectedTensor[] {
  const experts = expertsOf(config, layer)
  if (experts === null) return []
  const { form, count, sharedWidth, biased } = experts
  const { router, gates, down, biases } = expertPaths[form]
  const shapes = expertShapes(experts, config.hiddenSize)
  const ofAll = (nameOf: (expert: number) => string, shape: readonly number[]): ExpectedTensor[] =>
    Array.from({ length: count }, (_, index) => {
      const name = nameOf(index)
      const stack = { name: name.replace(`.${String(index)}.`, '.'), count, index }
      if (form === 'apart') return { name, shape }
      return form === 'paired' ? { name, shape, stack, isTransposed: true } : { name, shape, stack }
    })
  const table = (name: string, width: number) => ({ name, shape: [count, width], isExact: true })
  return [
    { name: router, shape: [count, config.hiddenSize], isExact: true },
    ...(sharedWidth > 0 ? [{ name: sharedGatePath, shape: [1, config.hiddenSize], isExact: true }] : []),
    ...gates.flatMap((nameOf) => ofAll(nameOf, shapes.gate)),
    ...ofAll(down, shapes.down),
    ...(biased ? [{ name: routerBias(router), shape: [count] }] : []),
    ...(biased && biases !== undefined
      ? [...biases.gates.map((name) => table(name, shapes.gate[0])), table(biases.down, shapes.down[0])]
      : []),
  ]
}

/** Norm behind what a token brings into a layer, without `.weight`; and the number that a block's result is multiplied with. */
export const layerInputNorm = 'post_per_layer_input_norm'
export const blockScaleName = 'layer_scalar'

/** Scores of the sinks of all heads, [H]. */
export const sinksPath = 'self_attn.sinks'

/** Kernel of a short convolution, named as in its module. */
export const kernelNames = { weight: 'conv.conv.weight', bias: 'conv.conv.bias' } as const

function mixerTensors(config: ModelConfig, layer: number): ExpectedTensor[] {
  const mixer = config.mixers[layer]
  if (mixer?.kind === 'delta') return deltaTensors(mixer)
  if (mixer?.kind === 'state') return stateTensors(mixer)
  if (mixer?.kind !== 'convolution') {
    const sinks = config.hasSinks ? [{ name: sinksPath, shape: [headShape(config, mixer).heads] }] : []
    return [...headNorms(config, mixer), ...sinks]
  }
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
  { name: deltaNames.kernel, shape: [recurrentWidth(mixer), 1, mixer.kernel] },
  { name: deltaNames.norm, shape: [mixer.valueDim] },
  { name: deltaNames.rate, shape: [mixer.valueHeads] },
  { name: deltaNames.step, shape: [mixer.valueHeads] },
]

/** Vectors of a state space, named as in its module. */
export const stateNames = {
  kernel: 'mamba.conv1d.weight',
  bias: 'mamba.conv1d.bias',
  norm: 'mamba.norm.weight',
  /** log of the rate at which a head forgets, what is added to its steps, and how much of a value is passed on as it is. */
  rate: 'mamba.A_log',
  step: 'mamba.dt_bias',
  skip: 'mamba.D',
} as const

function stateTensors(mixer: StateSpace): ExpectedTensor[] {
  const width = recurrentWidth(mixer)
  const ofHeads = [stateNames.rate, stateNames.step, stateNames.skip].map((name) => ({
    name,
    shape: [mixer.valueHeads],
  }))
  return [
    { name: stateNames.kernel, shape: [width, 1, mixer.kernel] },
    ...(mixer.bias ? [{ name: stateNames.bias, shape: [width] }] : []),
    { name: stateNames.norm, shape: [mixer.valueHeads * mixer.valueDim] },
    ...ofHeads,
  ]
}

function headNorms(config: ModelConfig, mixer: LayerAttention | undefined): ExpectedTensor[] {
  const { qkNorm, names } = config
  if (qkNorm === 'none') return []
  const { heads, kvHeads, headDim } = headShape(config, mixer)
  const [queries, keys] = qkNorm === 'all' ? [heads, kvHeads] : [1, 1]
  const query = { name: `${names.queryNorm}.weight`, shape: [queries * headDim] }
  if (mixer?.keysOf !== undefined) return [query]
  return [query, { name: `${names.keyNorm}.weight`, shape: [keys * headDim] }]
}

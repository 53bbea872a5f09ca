import { expertsOf, type Experts } from './expertConfig.ts'

/**
 * Everything a decoder needs to know about its model, whatever the family. Read by `models/registry.ts`; what most
 * families share is in `models/common.ts`.
 */
export interface ModelConfig {
  readonly architecture: string
  readonly layers: number
  readonly hiddenSize: number
  readonly heads: number
  /** Key/value heads; a divisor of `heads` (grouped-query attention). */
  readonly kvHeads: number
  /** Channels per head. */
  readonly headDim: number
  readonly intermediateSize: number
  /** [layers] widths of the MLPs, where they differ; absent: all are `intermediateSize`. */
  readonly innerSizes?: readonly number[]
  readonly vocabSize: number
  /** Longest sequence that the positions were trained for. */
  readonly maxPositions: number
  /** Longest sequence computed here; frequencies that depend on the context length are computed for it. */
  readonly contextLength: number
  /** The linear layers of a block, in the order of their tensors. */
  readonly linears: readonly LinearName[]
  readonly biases: Readonly<Partial<Record<LinearName, boolean>>>
  /** Linears are stored as [in, out], as GPT-2's Conv1D does. */
  readonly transposedLinears: boolean
  readonly activation: 'silu' | 'gelu-tanh' | 'relu-squared'
  readonly norm: NormKind
  readonly normEpsilon: number
  /** Names of a block's norms; null if it has none at that place. */
  readonly blockNorms: BlockNorms
  /**
   * Norm of q and k: each head's channels by themselves before they are rotated (Qwen3) or after (Hunyuan), or all together
   * before (OLMo 2).
   */
  readonly qkNorm: 'none' | 'head' | 'rotated-head' | 'all'
  /** Channels that rotate together: i and i + R/2 (Llama), or 2i and 2i + 1 (GLM). */
  readonly rotatedPairs: RotatedPairs
  /** Factor of q·k. */
  readonly attentionScale: number
  /** c in c·tanh(score/c); null: scores stay as they are. */
  readonly attentionSoftcap: number | null
  /** True if each head has a sink: a learned score of nothing, which takes a share of the softmax from the keys. */
  readonly hasSinks: boolean
  /** True if q_proj has, behind each head's query, what its result is multiplied with through a sigmoid. */
  readonly attentionGate: boolean
  /** True if the values of each head are normed too, without a weight. */
  readonly normsValues: boolean
  /** Soft cap of the logits; see `attentionSoftcap`. */
  readonly finalSoftcap: number | null
  /** Factors of the embeddings, of what a block adds to the residual stream, and of the logits. */
  readonly embeddingScale: number
  readonly residualScale: number
  readonly logitScale: number
  /** True if what a block gives on is multiplied with a number of the checkpoint. */
  readonly scalesLayers: boolean
  /** Channels of what a token brings into each layer beside the stream; 0: nothing. */
  readonly layerChannels: number
  /** The distinct rotary embeddings and windows of its layers; most models have one of each. */
  readonly ropes: readonly RopeConfig[]
  readonly windows: readonly AttentionWindow[]
  /** [layers] */
  readonly mixers: readonly LayerMixer[]
  /** Small networks of which each token goes through a few, in the place of an MLP; null: the model has none. */
  readonly experts: Experts | null
  /** The output head is the transposed embedding table. */
  readonly tiedHead: boolean
  readonly names: ModelNames
  readonly bosId: number | null
  readonly eosIds: readonly number[]
  readonly padId: number | null
}

export type RotatedPairs = 'halves' | 'adjacent'

/**
 * `rms`: x/rms(x)·w (Zhang and Sennrich 2019, arXiv:1910.07467); `rms-offset`: the same with 1 + w, as Gemma stores it;
 * `layer`: mean and bias too (Ba et al. 2016, arXiv:1607.06450).
 */
export type NormKind = 'rms' | 'rms-offset' | 'layer'

export interface BlockNorms {
  readonly beforeAttention: string | null
  readonly afterAttention: string | null
  readonly beforeMlp: string | null
  readonly afterMlp: string | null
}

/** Tokens that a query sees, itself included; null: all before it. */
export type AttentionWindow = number | null

/** Way in which a layer mixes positions. */
export type LayerMixer = LayerAttention | ShortConvolution | DeltaRule | StateSpace

export interface LayerAttention {
  readonly kind: 'attention'
  /** Index into `ModelConfig.windows`; `rope` is one into `ModelConfig.ropes`. */
  readonly window: number
  /** null: q and k are not rotated. */
  readonly rope: number | null
  /** Rope of q where k has another; that of k if absent. */
  readonly queryRope?: number
  /** Key/value heads and channels of a head, where the layer has others than `ModelConfig` says. */
  readonly kvHeads?: number
  readonly headDim?: number
  /** True if k_proj gives the values too. */
  readonly valuesAreKeys?: boolean
  /** Earlier layer whose keys and values it reads, having none of its own. */
  readonly keysOf?: number
}

/** A convolution over few positions of each channel, between two gates. */
export interface ShortConvolution {
  readonly kind: 'convolution'
  /** Positions that each one reads, itself included; at least 2, and the same in all layers. */
  readonly kernel: number
  readonly bias: boolean
}

/** Linear attention: a matrix for each head that every position changes, behind a convolution over few positions. */
export interface Recurrence {
  /** Positions that the convolution reads of queries, keys and values; see `ShortConvolution.kernel`. */
  readonly kernel: number
  /** Heads of queries and keys; a divisor of `valueHeads`. */
  readonly keyHeads: number
  readonly valueHeads: number
  /** Channels of a head of queries and keys, and of values. */
  readonly keyDim: number
  readonly valueDim: number
}

/** Linear attention by the gated delta rule. */
export interface DeltaRule extends Recurrence {
  readonly kind: 'delta'
}

/** The state space of Mamba-2, which is linear attention that only forgets and adds: B are its keys, C its queries. */
export interface StateSpace extends Recurrence {
  readonly kind: 'state'
  /** True if its convolution has a bias. */
  readonly bias: boolean
}

/** Mixers that remember a matrix for each head. */
export const isRecurrent = (mixer: LayerMixer | undefined): mixer is DeltaRule | StateSpace =>
  mixer?.kind === 'delta' || mixer?.kind === 'state'

/** True if a layer attends linearly, which the programs of devices do not compute yet. */
export const attendsLinearly = ({ mixers }: Pick<ModelConfig, 'mixers'>): boolean => mixers.some(isRecurrent)

/** Channels of queries, keys and values together. */
export const recurrentWidth = ({ keyHeads, valueHeads, keyDim, valueDim }: Recurrence): number =>
  2 * keyHeads * keyDim + valueHeads * valueDim

/** Names of the tensors in a checkpoint of the family. */
export interface ModelNames {
  readonly embedding: string
  /** Table of learned positions; null where positions are rotations. */
  readonly positions: string | null
  /** `model.layers.`, in front of a layer's number. */
  readonly layers: string
  /** Name without `.weight`. */
  readonly finalNorm: string
  /** Output head, where it is not tied to the embedding. */
  readonly head: string
  /** Norms of q and k within a layer, without `.weight`, where it has them. */
  readonly queryNorm: string
  readonly keyNorm: string
  /** Tables of what a token brings into each layer; absent where it brings nothing. */
  readonly layerInputs?: LayerInputNames
}

export interface LayerInputNames {
  /** Table [V, L·P] of the tokens' own part. */
  readonly table: string
  /** Matrix [L·P, D] of the part that comes from the embedding, and its norm without `.weight`. */
  readonly projection: string
  readonly norm: string
}

/** Rotary embedding: angle of position p, pair i = p · inverseFrequencies[i]; cos and sin times `attentionFactor`. */
export interface RopeConfig {
  /** The base that the frequencies were made from, before any scaling. */
  readonly theta: number
  /** [R / 2]; the first R channels of a head are rotated, the rest are not. */
  readonly inverseFrequencies: readonly number[]
  readonly attentionFactor: number
  /** Factor that grows with the position; none if absent. */
  readonly growth?: RopeGrowth
}

/** 1 + rate · ln(1 + ⌊p / length⌋) at position p. */
export interface RopeGrowth {
  readonly rate: number
  readonly length: number
}

/** Factor of cos and sin at a position. */
export const ropeFactor = ({ attentionFactor, growth }: RopeConfig, position: number): number =>
  growth === undefined
    ? attentionFactor
    : attentionFactor * (1 + growth.rate * Math.log(1 + Math.floor(position / growth.length)))

/** The linear layers that LoRA can adapt, in the words of the checkpoints, and their module paths within a layer. */
const linearPaths = {
  q_proj: 'self_attn.q_proj',
  k_proj: 'self_attn.k_proj',
  v_proj: 'self_attn.v_proj',
  /** q, k and v stacked in one matrix. */
  qkv_proj: 'self_attn.qkv_proj',
  /** GPT-2's q, k and v. */
  c_attn: 'attn.c_attn',
  o_proj: 'self_attn.o_proj',
  'attn.c_proj': 'attn.c_proj',
  /** LFM2's. */
  'self_attn.out_proj': 'self_attn.out_proj',
  /** Both gates and the input of a short convolution in one matrix. */
  in_proj: 'conv.in_proj',
  /** Qwen 3.5's linear attention: queries, keys and values; the gate of the result; β; g. */
  in_proj_qkv: 'linear_attn.in_proj_qkv',
  in_proj_z: 'linear_attn.in_proj_z',
  in_proj_b: 'linear_attn.in_proj_b',
  in_proj_a: 'linear_attn.in_proj_a',
  'linear_attn.out_proj': 'linear_attn.out_proj',
  /** Mamba's gate, values, keys, queries and steps in one matrix. */
  'mamba.in_proj': 'mamba.in_proj',
  'mamba.out_proj': 'mamba.out_proj',
  'conv.out_proj': 'conv.out_proj',
  gate_proj: 'mlp.gate_proj',
  up_proj: 'mlp.up_proj',
  /** gate and up stacked in one matrix. */
  gate_up_proj: 'mlp.gate_up_proj',
  /** GPT-2's up, which has no gate. */
  c_fc: 'mlp.c_fc',
  down_proj: 'mlp.down_proj',
  'mlp.c_proj': 'mlp.c_proj',
  /** Granite 4's gate and up in one matrix, and its down. */
  'shared_mlp.input_linear': 'shared_mlp.input_linear',
  'shared_mlp.output_linear': 'shared_mlp.output_linear',
  /** Linears of the expert that all tokens go through. */
  'shared_expert.gate_proj': 'mlp.shared_expert.gate_proj',
  'shared_expert.up_proj': 'mlp.shared_expert.up_proj',
  'shared_expert.down_proj': 'mlp.shared_expert.down_proj',
  /** LFM2's gate, up and down. */
  w1: 'feed_forward.w1',
  w3: 'feed_forward.w3',
  w2: 'feed_forward.w2',
  /** Gemma's ways from the stream to what a token brings into a layer, and back. */
  per_layer_input_gate: 'per_layer_input_gate',
  per_layer_projection: 'per_layer_projection',
} as const
export type LinearName = keyof typeof linearPaths

/** Targets of all families. */
export const linearNames = Object.keys(linearPaths) as readonly LinearName[]

/** Linears of Llama and most other families. */
export const separateLinears = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const satisfies readonly LinearName[]

const sharedGates = ['shared_expert.gate_proj', 'shared_expert.up_proj'] as const

/** Linears of the expert that all tokens go through. */
export const sharedLinears = [
  ...sharedGates,
  'shared_expert.down_proj',
] as const satisfies readonly LinearName[]

const isShared = (name: LinearName): boolean => linearPaths[name].startsWith('mlp.shared_expert.')

/** True for Granite 4's MLP, which a layer has beside its experts too. */
export const isBeside = (name: LinearName): boolean => linearPaths[name].startsWith('shared_mlp.')

/** Linears that read the same input. */
export const linearsByInput: readonly (readonly LinearName[])[] = [
  [
    ...(['q_proj', 'k_proj', 'v_proj', 'qkv_proj', 'c_attn', 'in_proj'] as const),
    ...(['in_proj_qkv', 'in_proj_z', 'in_proj_b', 'in_proj_a', 'mamba.in_proj'] as const),
  ],
  [
    ...(['o_proj', 'attn.c_proj', 'self_attn.out_proj', 'conv.out_proj'] as const),
    ...(['linear_attn.out_proj', 'mamba.out_proj'] as const),
  ],
  ['gate_proj', 'up_proj', 'gate_up_proj', 'c_fc', 'w1', 'w3', ...sharedGates, 'shared_mlp.input_linear'],
  ['down_proj', 'mlp.c_proj', 'w2', 'shared_expert.down_proj', 'shared_mlp.output_linear'],
  ['per_layer_input_gate'],
  ['per_layer_projection'],
]

/** Gate and up of an MLP in one. */
export const fusedGates: readonly LinearName[] = ['gate_up_proj', 'shared_mlp.input_linear']
const gates: readonly LinearName[] = ['gate_proj', 'w1', ...fusedGates]

/** True if MLPs multiply what goes up with a gate. */
export const hasGate = ({ linears }: Pick<ModelConfig, 'linears'>): boolean =>
  gates.some((gate) => linears.includes(gate))

/** `self_attn.q_proj`: the module path of a linear within its layer. */
export const linearPath = (name: LinearName): string => linearPaths[name]

/** The mixer that a linear is part of; null for one of the MLP. */
export const mixerOf = (name: LinearName): LayerMixer['kind'] | null => {
  const [module] = linearPaths[name].split('.')
  if (module === 'conv') return 'convolution'
  if (module === 'linear_attn') return 'delta'
  if (module === 'mamba') return 'state'
  return module === 'self_attn' || module === 'attn' ? 'attention' : null
}

/**
 * The linears of a layer: all of the model's but those of mixers that other layers have, of keys that it has not, and of an
 * MLP where it has experts, or of a shared expert where it has an MLP.
 */
export function linearsOf(config: ModelConfig, layer: number): readonly LinearName[] {
  const mixer = config.mixers[layer]
  const lacking: readonly LinearName[] =
    mixer?.kind !== 'attention'
      ? []
      : [
          ...(mixer.keysOf === undefined ? [] : (['k_proj', 'v_proj'] as const)),
          ...(mixer.valuesAreKeys === true ? (['v_proj'] as const) : []),
        ]
  const mixes = expertsOf(config, layer) !== null
  const isHere = (name: LinearName) =>
    mixerOf(name) === null ? isBeside(name) || isShared(name) === mixes : mixerOf(name) === mixer?.kind
  return config.linears.filter((name) => isHere(name) && !lacking.includes(name))
}

/** Heads of a layer's attention, and channels of each. */
export interface HeadShape {
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
}

/** The heads of a mixer that attends; the model's of any other. */
export const headShape = (config: HeadShape, mixer: LayerMixer | undefined): HeadShape => {
  const { heads, kvHeads, headDim } = config
  return mixer?.kind === 'attention'
    ? { heads, kvHeads: mixer.kvHeads ?? kvHeads, headDim: mixer.headDim ?? headDim }
    : { heads, kvHeads, headDim }
}

/** Key/value heads of the layers that see through each window of `ModelConfig.windows`. */
export const kvHeadsOfWindows = (
  config: Pick<ModelConfig, 'kvHeads' | 'windows' | 'mixers'>,
): readonly number[] =>
  config.windows.map((_, window) => {
    const mixer = config.mixers.find((each) => each.kind === 'attention' && each.window === window)
    return (mixer?.kind === 'attention' ? mixer.kvHeads : undefined) ?? config.kvHeads
  })

/** The layer whose keys and values a layer reads: mostly itself. */
export const keysOfLayer = ({ mixers }: Pick<ModelConfig, 'mixers'>, layer: number): number => {
  const mixer = mixers[layer]
  return (mixer?.kind === 'attention' ? mixer.keysOf : undefined) ?? layer
}

/** True if a later layer reads the keys and values of this one. */
export const isReadLater = (config: Pick<ModelConfig, 'mixers'>, layer: number): boolean =>
  config.mixers.some((_, reader) => reader !== layer && keysOfLayer(config, reader) === layer)

/** The attention of a layer; an error if it mixes positions otherwise. */
export function attentionOf({ mixers }: ModelConfig, layer: number): LayerAttention {
  const mixer = mixers[layer]
  if (mixer?.kind !== 'attention') throw new Error(`Expected layer ${String(layer)} to attend.`)
  return mixer
}

/** Channels of queries, keys and values, heads of values and channels of all of these, of the mixers that are recurrent; else 0. */
function recurrentSizes({ mixers }: ModelConfig) {
  const found = mixers.find(isRecurrent)
  if (found === undefined) return { width: 0, valueHeads: 0, values: 0 }
  const { valueHeads, valueDim } = found
  return { width: recurrentWidth(found), valueHeads, values: valueHeads * valueDim }
}

/** Output and input width of a layer's linear: its weight is [out, in] wherever it is computed with. */
export function linearShape(
  config: ModelConfig,
  name: LinearName,
  layer: number,
): readonly [out: number, input: number] {
  const { hiddenSize, attentionGate, layerChannels } = config
  const { heads, kvHeads, headDim } = headShape(config, config.mixers[layer])
  const intermediateSize = config.innerSizes?.[layer] ?? config.intermediateSize
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  const sharedWidth = config.experts?.sharedWidth ?? 0
  const { width, valueHeads, values } = recurrentSizes(config)
  const shapes: Readonly<Record<LinearName, readonly [out: number, input: number]>> = {
    q_proj: [attentionGate ? 2 * queries : queries, hiddenSize],
    k_proj: [keys, hiddenSize],
    v_proj: [keys, hiddenSize],
    qkv_proj: [queries + 2 * keys, hiddenSize],
    c_attn: [queries + 2 * keys, hiddenSize],
    o_proj: [hiddenSize, queries],
    'attn.c_proj': [hiddenSize, queries],
    'self_attn.out_proj': [hiddenSize, queries],
    in_proj: [3 * hiddenSize, hiddenSize],
    in_proj_qkv: [width, hiddenSize],
    'mamba.in_proj': [values + width + valueHeads, hiddenSize],
    'mamba.out_proj': [hiddenSize, values],
    in_proj_z: [values, hiddenSize],
    in_proj_b: [valueHeads, hiddenSize],
    in_proj_a: [valueHeads, hiddenSize],
    'linear_attn.out_proj': [hiddenSize, values],
    'conv.out_proj': [hiddenSize, hiddenSize],
    gate_proj: [intermediateSize, hiddenSize],
    up_proj: [intermediateSize, hiddenSize],
    gate_up_proj: [2 * intermediateSize, hiddenSize],
    c_fc: [intermediateSize, hiddenSize],
    down_proj: [hiddenSize, intermediateSize],
    'mlp.c_proj': [hiddenSize, intermediateSize],
    'shared_mlp.input_linear': [2 * intermediateSize, hiddenSize],
    'shared_mlp.output_linear': [hiddenSize, intermediateSize],
    'shared_expert.gate_proj': [sharedWidth, hiddenSize],
    'shared_expert.up_proj': [sharedWidth, hiddenSize],
    'shared_expert.down_proj': [hiddenSize, sharedWidth],
    w1: [intermediateSize, hiddenSize],
    w3: [intermediateSize, hiddenSize],
    w2: [hiddenSize, intermediateSize],
    per_layer_input_gate: [layerChannels, hiddenSize],
    per_layer_projection: [hiddenSize, layerChannels],
  }
  return shapes[name]
}

/** LoRA (Hu et al. 2021, arXiv:2106.09685): y = W x + s·B(A x), s = alpha/rank, or alpha/√rank for rsLoRA. */
export interface LoraConfig {
  readonly rank: number
  readonly alpha: number
  readonly rsLora: boolean
  /** Targets that the model does not have are ignored. */
  readonly targets: readonly LinearName[]
  /** Dropout probability of the adapter's input during learning; 0 if absent. */
  readonly dropout?: number
}

export const loraScale = ({ rank, alpha, rsLora }: LoraConfig): number =>
  alpha / (rsLora ? Math.sqrt(rank) : rank)

/**
 * The linears that an adapter may change. Where a model has experts, its MLPs stay as they are, but for the expert that all
 * tokens go through: by their names PEFT means the experts.
 */
export const adaptableLinears = ({ linears, experts }: ModelConfig): readonly LinearName[] =>
  experts === null
    ? linears
    : linears.filter((name) => mixerOf(name) !== null || isShared(name) || isBeside(name))

/** The linears of a model that an adapter changes, in the model's order; those of one layer if it is given. */
export const adaptedLinears = (
  config: ModelConfig,
  { targets }: LoraConfig,
  layer?: number,
): readonly LinearName[] => {
  const all = adaptableLinears(config)
  const here = layer === undefined ? all : linearsOf(config, layer)
  return here.filter((name) => all.includes(name) && targets.includes(name))
}

/**
 * Helpers that the architectures share: they read the config's fields and refuse models that would be computed wrongly.
 */
import { type AppError, invalidModel, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { type RopeTraits, attentionLayout, contextLimits, readRope } from './attentionLayout.ts'
import {
  type BlockNorms,
  type LinearName,
  type ModelConfig,
  type ModelNames,
  type NormKind,
  isBeside,
  mixerOf,
  separateLinears,
  sharedLinears,
} from './config.ts'
import { type ExpertTraits, readExperts } from './expertConfig.ts'
import { Fields } from './fields.ts'

/** One family of decoders; the list is in `registry.ts`. */
export interface Architecture {
  /** `model_type` in config.json. */
  readonly modelType: string
  /** The class in `architectures`. */
  readonly className: string
  /** The same two of models that also read images, whose config.json has the text half as `text_config`. */
  readonly seeing?: { readonly modelType: string; readonly className: string }
  /** null: llama.cpp does not support it, or its names and order of tensors there are not known. */
  readonly gguf: GgufNaming | null
  readonly tiny: TinyModel
  /** True if its config may have experts. */
  readonly mixes?: true
  /** Way in which checkpoints may hold the experts in few bits, as `quant_method` names it. */
  readonly packing?: ExpertTraits['packing']
  /** `contextLength`: longest sequence that will be computed; null: as long as the model's own positions reach. */
  readonly read: (fields: Fields, contextLength: number | null) => ModelConfig
}

export interface GgufNaming {
  /** Name of the family in llama.cpp. */
  readonly name: string
  /**
   * True if llama.cpp's converter reorders the rows of q and k so that rotated pairs are adjacent, as it does for
   * families that derive from Llama.
   */
  readonly isPermuted: boolean
  /** Names of tensors there where they differ from those of most families, by these. */
  readonly renamed?: Readonly<Record<string, string>>
  /** True for the one of two families of a name whose files have a window. */
  readonly slides?: boolean
}

/** Sizes of a model with random weights. */
export interface ModelSizes {
  readonly layers: number
  readonly hiddenSize: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly maxPositions: number
  readonly normEpsilon: number
}

/**
 * A random model of the family for self-tests: the sizes that differ from the other families', chosen to exercise its
 * particular features.
 */
export interface TinyModel extends Partial<ModelSizes> {
  readonly tiedHead: boolean
  /** Standard deviation of its weights. */
  readonly deviation?: number
  /** Fields of config.json that random models of the family have in addition to Llama's. */
  readonly config?: (sizes: ModelSizes) => Readonly<Record<string, unknown>>
}

/**
 * The defaults of a family's class for fields that config.json lacks, and its particular features; the rest is as in
 * Llama.
 */
export interface ArchitectureTraits {
  readonly name: string
  /** null: as many as `num_attention_heads`. */
  readonly defaultKvHeads: number | null
  /** null: hidden size ÷ heads. */
  readonly defaultHeadDim: number | null
  readonly defaultMaxPositions: number
  readonly defaultTheta?: number
  /** Share of a head that is rotated; families without it rotate all. */
  readonly defaultRotatedShare?: number
  readonly defaultBosId: number | null
  readonly defaultEosIds: readonly number[]
  readonly defaultTied?: boolean
  readonly linears?: readonly LinearName[]
  readonly experts?: ExpertTraits
  readonly biases?: ModelConfig['biases']
  readonly norm?: NormKind
  readonly normEpsilonKey?: string
  readonly defaultNormEpsilon?: number
  readonly blockNorms?: BlockNorms
  readonly qkNorm?: ModelConfig['qkNorm']
  readonly activationKey?: string
  /** The required value of `activationKey`, and its default. */
  readonly activationName?: keyof typeof activations
}

/** Activations by their names in config.json. */
const activations = { silu: 'silu', gelu_pytorch_tanh: 'gelu-tanh', relu2: 'relu-squared' } as const

const maxPositionsLimit = 1 << 24

/** `input_layernorm` before attention, `post_attention_layernorm` before the MLP. */
const norms: BlockNorms = {
  beforeAttention: 'input_layernorm',
  afterAttention: null,
  beforeMlp: 'post_attention_layernorm',
  afterMlp: null,
}

export const qkNormNames = { queryNorm: 'self_attn.q_norm', keyNorm: 'self_attn.k_norm' } as const

export const names: ModelNames = {
  embedding: 'model.embed_tokens.weight',
  positions: null,
  layers: 'model.layers.',
  finalNorm: 'model.norm',
  head: 'lm_head.weight',
  ...qkNormNames,
}

/** Factors and caps of a model without any. */
export const plainFactors = {
  attentionSoftcap: null,
  hasSinks: false,
  attentionGate: false,
  normsValues: false,
  finalSoftcap: null,
  embeddingScale: 1,
  residualScale: 1,
  logitScale: 1,
  scalesLayers: false,
  layerChannels: 0,
} as const

/** A config of a family whose layers differ from Llama's only in `traits`; the family overrides anything else. */
export function readDecoderConfig(
  fields: Fields,
  traits: ArchitectureTraits,
  wantedContext: number | null,
): ModelConfig {
  refuseUnsupported(fields, traits.experts !== undefined, traits.experts?.packing)
  requireActivation(fields, traits)
  const heads = fields.integer('num_attention_heads', { min: 1, max: 1_024 })
  const hiddenSize = fields.integer('hidden_size', { min: 1, max: 65_536 })
  const headDim = readHeadDim(fields, traits, hiddenSize / heads)
  const layers = fields.integer('num_hidden_layers', { min: 1, max: 1_024 })
  const positions = { min: 1, max: maxPositionsLimit, fallback: traits.defaultMaxPositions }
  const limits = contextLimits(fields, fields.integer('max_position_embeddings', positions), wantedContext)
  const rope = readRope(fields, ropeTraits(traits, headDim), limits)
  const inner = linearsAndExperts(fields, traits, layers)
  const epsilon = { min: 1e-12, max: 0.1, fallback: traits.defaultNormEpsilon ?? 1e-6 }
  return {
    architecture: traits.name,
    layers,
    hiddenSize,
    heads,
    kvHeads: readKvHeads(fields, traits, heads),
    headDim,
    intermediateSize: readInnerSize(fields, inner),
    ...limits,
    ...inner,
    biases: traits.biases ?? {},
    transposedLinears: false,
    activation: activations[traits.activationName ?? 'silu'],
    norm: traits.norm ?? 'rms',
    normEpsilon: fields.number(traits.normEpsilonKey ?? 'rms_norm_eps', epsilon),
    blockNorms: traits.blockNorms ?? norms,
    qkNorm: traits.qkNorm ?? 'none',
    rotatedPairs: 'halves',
    attentionScale: headDim ** -0.5,
    ...plainFactors,
    ...attentionLayout(
      Array.from({ length: layers }, () => ({ window: null, rope })),
      limits,
    ),
    tiedHead: fields.boolean('tie_word_embeddings', traits.defaultTied ?? false),
    names,
    ...readSpecialTokens(fields, traits),
  }
}

/** Width of the MLPs, which a model whose every layer has a shared expert in their place need not say. */
function readInnerSize(fields: Fields, { experts }: Pick<ModelConfig, 'experts'>): number {
  const shared = experts?.sharedWidth ?? 0
  const limits = { min: 1, max: 1 << 20 }
  return fields.integer('intermediate_size', shared > 0 ? { ...limits, fallback: shared } : limits)
}

/** The linears beside experts, those of an MLP only where a layer has one. */
function linearsAndExperts(
  fields: Fields,
  { linears = separateLinears, experts: traits }: ArchitectureTraits,
  layers: number,
): Pick<ModelConfig, 'linears' | 'experts'> {
  const experts = traits === undefined ? null : readExperts(fields, traits, layers)
  const hasMlp = experts?.layers.every(Boolean) !== true
  const own = linears.filter((name) => mixerOf(name) !== null || isBeside(name) || hasMlp)
  return { linears: [...own, ...(experts !== null && experts.sharedWidth > 0 ? sharedLinears : [])], experts }
}

export const ropeTraits = (
  { defaultTheta, defaultRotatedShare }: Pick<ArchitectureTraits, 'defaultTheta' | 'defaultRotatedShare'>,
  headDim: number,
): RopeTraits => ({
  headDim,
  defaultTheta: defaultTheta ?? 10_000,
  defaultShare: defaultRotatedShare ?? null,
})

export function readSpecialTokens(
  fields: Fields,
  { defaultBosId, defaultEosIds }: Pick<ArchitectureTraits, 'defaultBosId' | 'defaultEosIds'>,
): Pick<ModelConfig, 'vocabSize' | 'bosId' | 'eosIds' | 'padId'> {
  const vocabSize = fields.integer('vocab_size', { min: 1, max: 1 << 22 })
  return {
    vocabSize,
    bosId: readTokenId(fields, 'bos_token_id', vocabSize, defaultBosId),
    eosIds: readTokenIds(fields, 'eos_token_id', vocabSize, defaultEosIds),
    padId: readTokenId(fields, 'pad_token_id', vocabSize, null),
  }
}

function readHeadDim(fields: Fields, traits: ArchitectureTraits, share: number): number {
  const fallback = traits.defaultHeadDim ?? share
  if (!fields.has('head_dim') && !Number.isInteger(fallback)) {
    throw fields.invalid('hidden_size', 'a multiple of num_attention_heads, or head_dim must be given')
  }
  const headDim = fields.integer('head_dim', { min: 2, max: 1_024, fallback })
  if (headDim % 2 !== 0) {
    throw invalidModel(`${fields.where} gives each head ${headDim} channels, which must be even.`)
  }
  return headDim
}

function readKvHeads(fields: Fields, traits: ArchitectureTraits, heads: number): number {
  // Absence alone means the class's default; null means "as many as heads".
  const fallback = fields.isNull('num_key_value_heads') ? heads : (traits.defaultKvHeads ?? heads)
  const kvHeads = fields.integer('num_key_value_heads', { min: 1, max: 1_024, fallback })
  if (heads % kvHeads !== 0) {
    throw invalidModel(
      `“num_attention_heads” in ${fields.where} (${heads}) must be a multiple of “num_key_value_heads” (${kvHeads}).`,
    )
  }
  return kvHeads
}

/** The error for a model that would not be computed as its authors intended. */
export const unsupported = (fields: Fields, what: string, hint?: string): AppError =>
  unsupportedModel(`${fields.where} describes a model with ${what}, which is not supported.`, hint)

/** `mixes`: true if the family may have experts; `packing`: quantised weights that it may have. */
export function refuseUnsupported(fields: Fields, mixes = false, packing?: string): void {
  const method = fields.has('quantization_config')
    ? shorten(fields.object('quantization_config').text('quant_method', 'unknown'))
    : packing
  if (method !== packing) {
    const hint =
      'Use the original weights (F32, F16 or BF16); Turnwise quantises them itself for faster rollouts.'
    throw unsupported(fields, `weights quantised by “${method ?? ''}”`, hint)
  }
  for (const key of mixes ? [] : ['num_experts', 'num_local_experts', 'n_routed_experts']) {
    if (fields.number(key, { min: 0, max: 1e6, fallback: 0 }) > 1)
      throw unsupported(fields, 'a mixture of experts')
  }
}

function requireActivation(
  fields: Fields,
  { activationKey = 'hidden_act', activationName = 'silu' }: ArchitectureTraits,
): void {
  const activation = fields.text(activationKey, activationName)
  if (activation !== activationName) throw unsupported(fields, `the activation “${shorten(activation)}”`)
}

/** Refuses a config with attention windows, for families whose layers all have full attention. */
export function refuseWindows(fields: Fields): void {
  const slides = fields.texts('layer_types').some((type) => type !== 'full_attention')
  if (slides || fields.boolean('use_sliding_window', false)) {
    throw unsupported(
      fields,
      'sliding-window attention in a family that has none',
      'Choose a model whose layers all attend to the full context.',
    )
  }
}

/** −1 is an old way to write "none". */
function readTokenId(fields: Fields, key: string, vocabSize: number, fallback: number | null): number | null {
  const isDefaultUsable = fallback !== null && fallback < vocabSize && !fields.isNull(key)
  const id = fields.integer(key, { min: -1, max: vocabSize - 1, fallback: isDefaultUsable ? fallback : -1 })
  return id === -1 ? null : id
}

function readTokenIds(
  fields: Fields,
  key: string,
  vocabSize: number,
  fallback: readonly number[],
): readonly number[] {
  const value = fields.value(key)
  if (!Array.isArray(value)) {
    const id = readTokenId(fields, key, vocabSize, fallback[0] ?? null)
    return id === null ? [] : [id]
  }
  const isId = (item: unknown): item is number =>
    typeof item === 'number' && Number.isInteger(item) && item >= 0 && item < vocabSize
  if (value.length > 1_000 || !value.every(isId)) {
    throw fields.invalid(key, `a token id below ${vocabSize}, or a list of them`)
  }
  return [...new Set(value)]
}

/**
 * Adds the fields of generation_config.json: its end-of-sequence ids come before those of config.json (instruct models
 * often name the end of a turn only there); bos and pad are filled in if missing.
 */
export function withGenerationConfig(config: ModelConfig, json: unknown, where: string): ModelConfig {
  const fields = new Fields(json, where)
  const { vocabSize } = config
  const eosIds = readTokenIds(fields, 'eos_token_id', vocabSize, [])
  return {
    ...config,
    eosIds: [...new Set([...eosIds, ...config.eosIds])],
    bosId: config.bosId ?? readTokenId(fields, 'bos_token_id', vocabSize, null),
    padId: config.padId ?? readTokenId(fields, 'pad_token_id', vocabSize, null),
  }
}

type Biases = ModelConfig['biases']

/** `attention_bias`: biases on all four projections of attention. */
export function attentionBiases(fields: Fields, fallback = false): Biases {
  const has = fields.boolean('attention_bias', fallback)
  return { q_proj: has, k_proj: has, v_proj: has, o_proj: has }
}

/** `mlp_bias` */
export function mlpBiases(fields: Fields): Biases {
  const has = fields.boolean('mlp_bias', false)
  return { gate_proj: has, up_proj: has, down_proj: has }
}

/** What the Llama-like architectures share: reading the config's fields, and refusing what would be computed wrongly. */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/shorten.ts'
import type { LinearName, ModelConfig, RopeConfig } from './config.ts'
import { Fields } from './fields.ts'
import { ropeConfig } from './rope.ts'

/** One family of decoders; the list is in `registry.ts`. */
export interface Architecture {
  /** `model_type` in config.json. */
  readonly modelType: string
  /** The class in `architectures`. */
  readonly className: string
  readonly read: (fields: Fields) => ModelConfig
}

/** What a family's class takes where config.json is silent, and what sets it apart. */
export interface ArchitectureTraits {
  readonly name: string
  /** null: as many as `num_attention_heads`. */
  readonly defaultKvHeads: number | null
  /** null: hidden size ÷ heads. */
  readonly defaultHeadDim: number | null
  readonly defaultMaxPositions: number
  readonly defaultBosId: number | null
  readonly defaultEosIds: readonly number[]
  readonly qkNorm: boolean
}

const maxPositionsLimit = 1 << 24

export const noBiases: Readonly<Record<LinearName, boolean>> = {
  q_proj: false,
  k_proj: false,
  v_proj: false,
  o_proj: false,
  gate_proj: false,
  up_proj: false,
  down_proj: false,
}

/** Reads everything but the biases, which each family decides. */
export function readDecoderConfig(
  fields: Fields,
  traits: ArchitectureTraits,
  biases: Readonly<Record<LinearName, boolean>>,
): ModelConfig {
  refuseUnsupported(fields)
  const heads = fields.integer('num_attention_heads', { min: 1, max: 1_024 })
  const hiddenSize = fields.integer('hidden_size', { min: 1, max: 65_536 })
  const headDim = readHeadDim(fields, traits, hiddenSize / heads)
  const maxPositions = fields.integer('max_position_embeddings', {
    min: 1,
    max: maxPositionsLimit,
    fallback: traits.defaultMaxPositions,
  })
  const vocabSize = fields.integer('vocab_size', { min: 1, max: 1 << 22 })
  return {
    architecture: traits.name,
    layers: fields.integer('num_hidden_layers', { min: 1, max: 1_024 }),
    hiddenSize,
    heads,
    kvHeads: readKvHeads(fields, traits, heads),
    headDim,
    intermediateSize: fields.integer('intermediate_size', { min: 1, max: 1 << 20 }),
    vocabSize,
    maxPositions,
    normEpsilon: fields.number('rms_norm_eps', { min: 1e-12, max: 0.1, fallback: 1e-6 }),
    rope: readRope(fields, headDim, maxPositions),
    tiedHead: fields.boolean('tie_word_embeddings', false),
    biases,
    qkNorm: traits.qkNorm,
    bosId: readTokenId(fields, 'bos_token_id', vocabSize, traits.defaultBosId),
    eosIds: readTokenIds(fields, 'eos_token_id', vocabSize, traits.defaultEosIds),
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
    throw new AppError(
      'model/invalid',
      `${fields.where} gives each head ${headDim} channels, which must be even.`,
    )
  }
  return headDim
}

function readKvHeads(fields: Fields, traits: ArchitectureTraits, heads: number): number {
  // Only a field that is absent means the class's default; null means "as many as heads".
  const fallback = fields.isNull('num_key_value_heads') ? heads : (traits.defaultKvHeads ?? heads)
  const kvHeads = fields.integer('num_key_value_heads', { min: 1, max: 1_024, fallback })
  if (heads % kvHeads !== 0) {
    throw new AppError(
      'model/invalid',
      `"num_attention_heads" in ${fields.where} (${heads}) must be a multiple of "num_key_value_heads" (${kvHeads}).`,
    )
  }
  return kvHeads
}

/** `rope_scaling` with `rope_theta` beside it, or all in `rope_parameters` as transformers 5 writes it. */
function readRope(fields: Fields, headDim: number, maxPositions: number): RopeConfig {
  const scaling = fields.object(fields.has('rope_scaling') ? 'rope_scaling' : 'rope_parameters')
  const rope = scaling.has('full_attention') ? scaling.object('full_attention') : scaling
  const limits = { min: 1.001, max: 1e12 }
  const theta = rope.number('rope_theta', {
    ...limits,
    fallback: fields.number('rope_theta', { ...limits, fallback: 10_000 }),
  })
  const original = { min: 1, max: maxPositionsLimit, fallback: 0 }
  const originalMaxPositions = fields.integer('original_max_position_embeddings', original)
  return ropeConfig(
    {
      headDim,
      theta,
      maxPositions,
      originalMaxPositions: originalMaxPositions === 0 ? null : originalMaxPositions,
    },
    rope,
  )
}

const unsupported = (fields: Fields, what: string, hint?: string): AppError =>
  new AppError(
    'model/unsupported',
    `${fields.where} describes a model with ${what}, which is not supported.`,
    hint,
  )

function refuseUnsupported(fields: Fields): void {
  if (fields.has('quantization_config')) {
    const method = shorten(fields.object('quantization_config').text('quant_method', 'unknown'))
    const hint =
      'Take the original weights (F32, F16 or BF16); Turnwise quantises them itself for faster rollouts.'
    throw unsupported(fields, `weights quantised by "${method}"`, hint)
  }
  for (const key of ['num_experts', 'num_local_experts', 'n_routed_experts']) {
    if (fields.number(key, { min: 0, max: 1e6, fallback: 0 }) > 1)
      throw unsupported(fields, 'a mixture of experts')
  }
  const slides = fields.texts('layer_types').some((type) => type !== 'full_attention')
  if (slides || fields.boolean('use_sliding_window', false)) {
    throw unsupported(
      fields,
      'sliding-window attention',
      'Choose a model whose layers all attend to the full context.',
    )
  }
  const activation = fields.text('hidden_act', 'silu')
  if (activation !== 'silu') throw unsupported(fields, `the activation "${shorten(activation)}"`)
  if (fields.number('partial_rotary_factor', { min: 0, max: 1, fallback: 1 }) !== 1) {
    throw unsupported(fields, 'heads that are rotated only in part')
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
 * Adds what generation_config.json says: its end-of-sequence ids come before those of config.json (instruct models
 * often name the end of a turn only there); bos and pad fill gaps.
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

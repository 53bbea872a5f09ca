/**
 * The metadata of a model's GGUF file as the config.json it was converted from: what llama.cpp's converter
 * (`convert_hf_to_gguf.py`) writes under each key, read backwards. What the converter leaves out llama.cpp has in its code,
 * by family (`src/llama-model.cpp`); these values are the same here.
 */
import { invalidModel, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { type Architecture, unsupported } from '#engine/models/common.ts'
import type { Fields } from '#engine/models/fields.ts'
import { gemmaActivation } from '#engine/models/gemma2.ts'
import { architectures, type ModelType } from '#engine/models/registry.ts'
import { expertFields } from './ggufExperts.ts'
import { ofSlidingLayers, readGemma4 } from './ggufGemma4.ts'
import { type FamilyKey, familyKeys, ropeTensors, tokenIdKey } from './ggufKeys.ts'
import {
  factors,
  has,
  integer,
  keyIn,
  layerTypes,
  type ModelDescription,
  number,
  type Reading,
  scalarFields,
  sizes,
  slidingLayers,
  value,
} from './ggufReading.ts'
import { endOfGeneration } from './ggufTokenizer.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the config. Errors: AppError 'model/unsupported' naming the family or what is not supported, 'model/invalid'
 * naming a key.
 */
export function ggufConfig(file: ModelDescription): Json {
  const fields = scalarFields(file)
  const architecture = architectureOf(fields)
  const reading = { file, fields, prefix: `${architecture.gguf?.name ?? ''}.` }
  const isGemma4 = architecture.modelType === 'gemma4_text'
  const common = commonConfig(isGemma4 ? ofSlidingLayers(reading) : reading)
  return {
    architectures: [architecture.className],
    model_type: architecture.modelType,
    torch_dtype: 'float32',
    ...(familyConfigs[architecture.modelType] ?? refusingWindows)(reading, common),
    ...specialTokens(reading),
  }
}

function architectureOf(fields: Fields): Architecture & { readonly modelType: ModelType } {
  const type = fields.text('general.type', 'model')
  if (type !== 'model') {
    throw invalidModel(`${fields.where} holds no model but “${shorten(type)}”.`)
  }
  if (fields.integer('split.count', { min: 0, max: 65_535, fallback: 1 }) > 1) {
    throw unsupportedModel(
      `${fields.where} is one part of a model that was split into several GGUF files.`,
      'Join the parts with llama.cpp’s `llama-gguf-split --merge`.',
    )
  }
  const name = fields.text('general.architecture', '')
  const slides = fields.has(`${name}.${familyKeys.window}`)
  return ggufArchitecture(name, fields.where, slides)
}

/** The family that llama.cpp calls so; of two, `slides` says which. Errors: AppError 'model/unsupported', naming `where`. */
export function ggufArchitecture(
  name: string,
  where: string,
  slides = false,
): Architecture & { readonly modelType: ModelType } {
  const named = architectures.filter(({ gguf }) => gguf?.name === name)
  const found = named.find(({ gguf }) => (gguf?.slides ?? false) === slides) ?? named[0]
  if (found !== undefined) return found
  const names = new Set(architectures.flatMap(({ gguf }) => gguf?.name ?? []))
  throw unsupportedModel(
    `${where} is for a model of the GGUF architecture “${shorten(name)}”, which is not supported.`,
    `Supported are ${[...names].join(', ')}.`,
  )
}

/** Reads what most families have, under Llama's names. */
function commonConfig(reading: Reading) {
  const { file, fields } = reading
  const heads = integer(reading, 'heads', sizes)
  const hiddenSize = integer(reading, 'width', sizes)
  const headDim = integer(reading, 'keyWidth', { ...sizes, fallback: hiddenSize / heads })
  if (integer(reading, 'valueWidth', { ...sizes, fallback: headDim }) !== headDim) {
    throw unsupported(fields, 'values of another width than keys')
  }
  const rotated = integer(reading, 'rotated', { ...sizes, fallback: headDim })
  const context = integer(reading, 'positions', sizes)
  const theta = number(reading, 'theta', { ...factors, max: 1e12, fallback: 10_000 })
  const [first] = file.tensors.get('token_embd.weight')?.shape ?? []
  return {
    hidden_size: hiddenSize,
    intermediate_size: integer(reading, 'mlpWidth', sizes),
    num_hidden_layers: integer(reading, 'layers', sizes),
    num_attention_heads: heads,
    num_key_value_heads: kvHeadsOf(reading, heads),
    head_dim: headDim,
    max_position_embeddings: context,
    vocab_size: first ?? null,
    hidden_act: 'silu',
    rms_norm_eps: value(reading, 'rmsEpsilon'),
    rope_theta: theta,
    ...(rotated === headDim ? {} : { partial_rotary_factor: rotated / headDim }),
    rope_scaling: ropeScaling(reading, { rotated, theta, context }),
    tie_word_embeddings: !file.tensors.has('output.weight'),
    attention_bias: file.tensors.has('blk.0.attn_output.bias'),
    num_local_experts: integer(reading, 'experts', { min: 0, max: 65_536, fallback: 0 }),
  }
}

/** One number, or one for each layer, which is 0 where a layer does not attend. */
function kvHeadsOf(reading: Reading, heads: number): number {
  const found = value(reading, 'kvHeads')
  if (!Array.isArray(found)) return integer(reading, 'kvHeads', { ...sizes, fallback: heads })
  const own = [...new Set(found.filter((count) => count !== 0))]
  if (own.length !== 1 || typeof own[0] !== 'number')
    throw unsupported(reading.fields, 'other heads in each layer')
  return own[0]
}

type CommonConfig = ReturnType<typeof commonConfig>
type FamilyConfig = (reading: Reading, common: CommonConfig) => Json

/** Reads the window; 0 means none. */
const windowOf = (reading: Reading): number | null =>
  integer(reading, 'window', { min: 0, max: 1 << 30, fallback: 0 }) || null

/** Reads families that attend to everything in llama.cpp, and refuses windows. */
const refusingWindows: FamilyConfig = (reading, common) => {
  if (windowOf(reading) !== null) throw unsupported(reading.fields, 'sliding-window attention')
  return common
}

const readLlama: FamilyConfig = (reading, common) => ({
  ...refusingWindows(reading, common),
  mlp_bias: reading.file.tensors.has('blk.0.ffn_up.bias'),
})

/** The scale of scores is not in the file: that of a head's width, except in the 27B models. */
const queryScalar = (common: CommonConfig, layersOf27B: number): number =>
  common.num_hidden_layers === layersOf27B ? common.hidden_size / common.num_attention_heads : common.head_dim

const capOf = (reading: Reading, key: FamilyKey, fallback: number | null): number | null =>
  has(reading, key) ? number(reading, key, factors) : fallback

const readGemma2: FamilyConfig = (reading, common) => ({
  ...common,
  ...gemmaActivation,
  query_pre_attn_scalar: queryScalar(common, 46),
  attn_logit_softcapping: capOf(reading, 'attentionCap', 50),
  final_logit_softcapping: capOf(reading, 'finalCap', 30),
  sliding_window: windowOf(reading) ?? 4_096,
})

const readGemma3: FamilyConfig = (reading, common) => {
  const pattern = value(reading, 'windowPattern')
  const layerTypes = Array.isArray(pattern)
    ? { layer_types: pattern.map((slides) => (slides ? 'sliding_attention' : 'full_attention')) }
    : { sliding_window_pattern: integer(reading, 'windowPattern', { ...sizes, fallback: 6 }) }
  return {
    ...common,
    ...gemmaActivation,
    ...layerTypes,
    rope_theta: has(reading, 'theta') ? common.rope_theta : 1_000_000,
    rope_local_base_freq: number(reading, 'localTheta', { ...factors, max: 1e12, fallback: 10_000 }),
    query_pre_attn_scalar: queryScalar(common, 62),
    attn_logit_softcapping: null,
    final_logit_softcapping: capOf(reading, 'finalCap', null),
    sliding_window: windowOf(reading),
  }
}

const readPhi3: FamilyConfig = (reading, common) => ({
  ...common,
  original_max_position_embeddings: integer(reading, 'ropeOriginal', {
    ...sizes,
    fallback: common.max_position_embeddings,
  }),
  sliding_window: windowOf(reading),
})

const readGranite: FamilyConfig = (reading, common) => ({
  ...readLlama(reading, common),
  embedding_multiplier: number(reading, 'embeddingScale', { ...factors, fallback: 1 }),
  attention_multiplier: number(reading, 'attentionScale', { ...factors, fallback: common.head_dim ** -0.5 }),
  residual_multiplier: number(reading, 'residualScale', { ...factors, fallback: 1 }),
  logits_scaling: number(reading, 'logitScale', { ...factors, fallback: 1 }),
})

const readWindowed: FamilyConfig = (reading, common) => {
  const window = windowOf(reading)
  return {
    ...common,
    sliding_window: window,
    ...(window !== null && { layer_types: layerTypes(slidingLayers(reading, common.num_hidden_layers, 4)) }),
  }
}

const readGlm4: FamilyConfig = (reading, common) => ({
  ...refusingWindows(reading, common),
  attention_bias: reading.file.tensors.has('blk.0.attn_q.bias'),
  partial_rotary_factor: common.partial_rotary_factor ?? 1,
})

const readSeedOss: FamilyConfig = (reading, common) => ({
  ...refusingWindows(reading, common),
  attention_bias: reading.file.tensors.has('blk.0.attn_q.bias'),
  attention_out_bias: reading.file.tensors.has('blk.0.attn_output.bias'),
})

/** YaRN there has a strength for the whole head's scale too, and queries grow with their position. */
const readMinistral3: FamilyConfig = (reading, { rope_scaling: _, ...common }) => {
  const strength = number(reading, 'yarnLog', { min: 0, max: 1e6, fallback: 0 })
  return {
    ...common,
    rope_parameters: {
      ...yarnOf(reading, number(reading, 'ropeFactor', factors)),
      rope_theta: common.rope_theta,
      mscale: strength === 0 ? 0 : 1,
      mscale_all_dim: strength,
      llama_4_scaling_beta: number(reading, 'queryGrowth', { min: 0, max: 100, fallback: 0 }),
    },
  }
}

const readLfm2: FamilyConfig = (reading, common) => {
  const heads = value(reading, 'kvHeads')
  return {
    ...common,
    norm_eps: common.rms_norm_eps,
    block_auto_adjust_ff_dim: false,
    conv_L_cache: integer(reading, 'convolution', sizes),
    layer_types: Array.from({ length: common.num_hidden_layers }, (_, layer) =>
      Array.isArray(heads) && heads[layer] === 0 ? 'conv' : 'full_attention',
    ),
  }
}

/** Keys and values of linear attention are equally wide in llama.cpp. */
const readQwen35: FamilyConfig = (reading, common) => ({
  ...refusingWindows(reading, common),
  partial_rotary_factor: common.partial_rotary_factor ?? 1,
  linear_conv_kernel_dim: integer(reading, 'deltaKernel', sizes),
  linear_key_head_dim: integer(reading, 'deltaKeyWidth', sizes),
  linear_value_head_dim: integer(reading, 'deltaKeyWidth', sizes),
  linear_num_key_heads: integer(reading, 'deltaKeyHeads', sizes),
  linear_num_value_heads: integer(reading, 'deltaValueHeads', sizes),
  full_attention_interval: integer(reading, 'fullInterval', { ...sizes, fallback: 4 }),
})

/** Files do not say that the blend of YaRN is not rounded to whole pairs, as it is not in any released model. */
const readGptOss: FamilyConfig = (reading, { rope_scaling: stretch, ...common }) => ({
  ...common,
  ...expertFields(reading),
  intermediate_size: integer(reading, 'expertWidth', sizes),
  sliding_window: windowOf(reading),
  layer_types: layerTypes(slidingLayers(reading, common.num_hidden_layers, 2)),
  rope_parameters: { rope_theta: common.rope_theta, ...stretch, ...(stretch && { truncate: false }) },
})

const readStablelm: FamilyConfig = (reading, common) => ({
  ...refusingWindows(reading, common),
  layer_norm_eps: value(reading, 'layerEpsilon'),
  partial_rotary_factor: common.partial_rotary_factor ?? 1,
  use_qkv_bias: reading.file.tensors.has('blk.0.attn_q.bias'),
  use_parallel_residual: reading.fields.boolean(keyIn(reading, 'parallelResidual'), false),
  qk_layernorm: reading.file.tensors.has('blk.0.attn_q_norm.weight'),
})

const readGpt2: FamilyConfig = (reading, common) => ({
  n_embd: common.hidden_size,
  n_inner: common.intermediate_size,
  n_layer: common.num_hidden_layers,
  n_head: common.num_attention_heads,
  n_positions: common.max_position_embeddings,
  vocab_size: common.vocab_size,
  activation_function: 'gelu_new',
  layer_norm_epsilon: value(reading, 'layerEpsilon'),
  tie_word_embeddings: common.tie_word_embeddings,
})

/** Readers of the families that need another than `refusingWindows`. */
const familyConfigs: Readonly<Partial<Record<ModelType, FamilyConfig>>> = {
  llama: readLlama,
  smollm3: (reading, common) => ({ ...readLlama(reading, common), no_rope_layer_interval: 4 }),
  gemma2: readGemma2,
  gemma3_text: readGemma3,
  gemma4_text: readGemma4,
  phi3: readPhi3,
  granite: readGranite,
  granitemoe: (reading, common) => ({ ...readGranite(reading, common), ...expertFields(reading) }),
  olmoe: (reading, common) => ({ ...refusingWindows(reading, common), ...expertFields(reading) }),
  qwen3_moe: (reading, common) => ({ ...refusingWindows(reading, common), ...expertFields(reading) }),
  olmo3: readWindowed,
  exaone4: readWindowed,
  glm4: readGlm4,
  seed_oss: readSeedOss,
  ministral3: readMinistral3,
  arcee: (reading, common) => ({ ...refusingWindows(reading, common), hidden_act: 'relu2' }),
  lfm2: readLfm2,
  qwen3_5_text: readQwen35,
  qwen3_5_moe_text: (reading, common) => ({ ...readQwen35(reading, common), ...expertFields(reading) }),
  stablelm: readStablelm,
  gpt2: readGpt2,
  gpt_oss: readGptOss,
}

interface Rotation {
  /** Channels of a head that are rotated. */
  readonly rotated: number
  readonly theta: number
  readonly context: number
}

/** `rope_scaling`; null where frequencies stay as they are. */
function ropeScaling(reading: Reading, rotation: Rotation): Json | null {
  const { fields, file } = reading
  const divisors = file.numbers(ropeTensors.divisors)
  if (divisors !== null) return dividedRope(divisors, rotation)
  const type = fields.text(keyIn(reading, 'ropeType'), 'none')
  const [long, short] = [file.numbers(ropeTensors.long), file.numbers(ropeTensors.short)]
  if (long !== null && short !== null) {
    const attention = number(reading, 'ropeAttention', { min: 0, max: 1e6, fallback: 0 })
    return {
      rope_type: 'longrope',
      long_factor: long,
      short_factor: short,
      ...(attention === 0 ? {} : { attention_factor: attention }),
    }
  }
  const factor = number(reading, 'ropeFactor', { min: 0, max: 1e6, fallback: 1 })
  if (type === 'none') {
    const scale = number(reading, 'linearFactor', { ...factors, fallback: 1 })
    return scale === 1 ? null : { rope_type: 'linear', factor: scale }
  }
  if (type === 'linear') return { rope_type: 'linear', factor }
  if (type === 'yarn') return yarnRope(reading, factor)
  throw unsupported(fields, `the rope scaling “${shorten(type)}”`)
}

/** Family whose files say YaRN's strength, which `readMinistral3` reads. */
const withStrength = 'mistral3.'

function yarnRope(reading: Reading, factor: number): Json {
  const own = [familyKeys.ropeAttention, 'rope.scaling.yarn_attn_factor', 'rope.scaling.yarn_log_multiplier']
  const strange =
    reading.prefix === withStrength
      ? undefined
      : own.find((key) => reading.fields.has(`${reading.prefix}${key}`))
  if (strange !== undefined) throw unsupported(reading.fields, `YaRN with “${strange}”`)
  return yarnOf(reading, factor)
}

function yarnOf(reading: Reading, factor: number): Json {
  return {
    rope_type: 'yarn',
    factor,
    original_max_position_embeddings: integer(reading, 'ropeOriginal', sizes),
    beta_fast: number(reading, 'betaFast', { ...factors, fallback: 32 }),
    beta_slow: number(reading, 'betaSlow', { ...factors, fallback: 1 }),
  }
}

/** RoPE settings of Llama 3.1 and later, beside the factor. */
const llama3 = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8_192 }

/**
 * Returns the RoPE settings for pair frequencies that are each divided by a number of their own, into which the
 * converter turns the scaling of Llama 3: those of the released models are known again; others are kept as they are, as
 * LongRoPE with one list for all lengths.
 */
function dividedRope(divisors: readonly number[], { rotated, theta, context }: Rotation): Json {
  const factor = Math.max(...divisors)
  const { low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: length } = llama3
  const isLlama3 = divisors.every((divisor, pair) => {
    const turns = length / (2 * Math.PI * theta ** ((2 * pair) / rotated))
    const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)))
    return Math.abs(divisor * ((1 - kept) / factor + kept) - 1) < 1e-5
  })
  if (isLlama3) return { rope_type: 'llama3', factor, ...llama3 }
  return {
    rope_type: 'longrope',
    long_factor: divisors,
    short_factor: divisors,
    factor: 1,
    attention_factor: 1,
    original_max_position_embeddings: context,
  }
}

function specialTokens({ file, fields }: Reading): Json {
  const idOf = (kind: string): number | null => {
    const key = tokenIdKey(kind)
    return fields.has(key) ? fields.integer(key, { min: 0, max: 1 << 22 }) : null
  }
  const ends = [idOf('eos'), idOf('eot'), idOf('eom'), ...endOfGeneration(file)].filter((id) => id !== null)
  return {
    bos_token_id: idOf('bos'),
    eos_token_id: ends.length === 0 ? null : [...new Set(ends)],
    pad_token_id: idOf('padding'),
  }
}

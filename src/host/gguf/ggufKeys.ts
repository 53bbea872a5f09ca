/** Names under which GGUF files keep their description of a model, for both writing and reading. */

/** Keys after the name of the family: `llama.block_count`. */
export const familyKeys = {
  layers: 'block_count',
  positions: 'context_length',
  vocabulary: 'vocab_size',
  width: 'embedding_length',
  mlpWidth: 'feed_forward_length',
  heads: 'attention.head_count',
  kvHeads: 'attention.head_count_kv',
  keyWidth: 'attention.key_length',
  valueWidth: 'attention.value_length',
  keyWidthSliding: 'attention.key_length_swa',
  valueWidthSliding: 'attention.value_length_swa',
  sharedLayers: 'attention.shared_kv_layers',
  layerChannels: 'embedding_length_per_layer_input',
  rmsEpsilon: 'attention.layer_norm_rms_epsilon',
  layerEpsilon: 'attention.layer_norm_epsilon',
  window: 'attention.sliding_window',
  windowPattern: 'attention.sliding_window_pattern',
  attentionCap: 'attn_logit_softcapping',
  finalCap: 'final_logit_softcapping',
  rotated: 'rope.dimension_count',
  rotatedSliding: 'rope.dimension_count_swa',
  theta: 'rope.freq_base',
  localTheta: 'rope.freq_base_swa',
  linearFactor: 'rope.scale_linear',
  ropeType: 'rope.scaling.type',
  ropeFactor: 'rope.scaling.factor',
  ropeOriginal: 'rope.scaling.original_context_length',
  ropeAttention: 'rope.scaling.attn_factor',
  betaFast: 'rope.scaling.yarn_beta_fast',
  betaSlow: 'rope.scaling.yarn_beta_slow',
  yarnLog: 'rope.scaling.yarn_log_multiplier',
  queryGrowth: 'attention.temperature_scale',
  convolution: 'shortconv.l_cache',
  deltaKernel: 'ssm.conv_kernel',
  deltaKeyWidth: 'ssm.state_size',
  deltaKeyHeads: 'ssm.group_count',
  deltaValueHeads: 'ssm.time_step_rank',
  deltaValues: 'ssm.inner_size',
  fullInterval: 'full_attention_interval',
  ropeSections: 'rope.dimension_sections',
  experts: 'expert_count',
  expertsUsed: 'expert_used_count',
  expertWidth: 'expert_feed_forward_length',
  sharedWidth: 'expert_shared_feed_forward_length',
  embeddingScale: 'embedding_scale',
  attentionScale: 'attention.scale',
  residualScale: 'residual_scale',
  logitScale: 'logit_scale',
  parallelResidual: 'use_parallel_residual',
} as const
export type FamilyKey = keyof typeof familyKeys

/** Tensors with numbers of the rotary embedding. */
export const ropeTensors = {
  divisors: 'rope_freqs.weight',
  long: 'rope_factors_long.weight',
  short: 'rope_factors_short.weight',
} as const

/** `tokenizer.ggml.model` */
export const wordPieces = 'gpt2'
export const sentencePieces = 'llama'
/** Sentence pieces too, with the list of merges in place of scores. */
export const mergedPieces = 'gemma4'

/** Keys after `tokenizer.ggml.`. */
export const tokenizerKeys = {
  model: 'model',
  pre: 'pre',
  tokens: 'tokens',
  types: 'token_type',
  merges: 'merges',
  scores: 'scores',
  addsBos: 'add_bos_token',
  addsEos: 'add_eos_token',
  addsSpace: 'add_space_prefix',
} as const

export const tokenizerKey = (key: string): string => `tokenizer.ggml.${key}`
export const tokenIdKey = (part: string): string => tokenizerKey(`${part}_token_id`)

/** Names of special tokens here and in tokenizer_config.json. */
export const specialParts = [
  ['bos_token', 'bos'],
  ['eos_token', 'eos'],
  ['unk_token', 'unknown'],
  ['pad_token', 'padding'],
] as const

export const templateKey = 'tokenizer.chat_template'

/** `tokenizer.ggml.token_type` */
export const tokenTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

import { replacedMixers } from './attentionLayout.ts'
import { type Architecture, type ArchitectureTraits, attentionBiases, readDecoderConfig } from './common.ts'
import {
  type DeltaRule,
  type LayerMixer,
  type ModelConfig,
  recurrentWidth,
  separateLinears,
} from './config.ts'
import type { Fields } from './fields.ts'

/**
 * Qwen 3.5, dense, text: three of four layers attend linearly by the gated delta rule (Yang et al. 2024, arXiv:2412.06464), the
 * fourth with a gate, and a quarter of each head rotated.
 */
export const qwen35 = {
  modelType: 'qwen3_5_text',
  className: 'Qwen3_5ForCausalLM',
  seeing: { modelType: 'qwen3_5', className: 'Qwen3_5ForConditionalGeneration' },
  gguf: { name: 'qwen35', isPermuted: false, renamed: { ffn_norm: 'post_attention_norm' } },
  tiny: {
    layers: 4,
    headDim: 16,
    tiedHead: true,
    deviation: 0.22,
    normEpsilon: 1e-2,
    config: () => ({
      linear_num_key_heads: 2,
      linear_num_value_heads: 4,
      linear_key_head_dim: 8,
      linear_value_head_dim: 8,
    }),
  },
  read: (fields, contextLength) =>
    readQwen35(fields, { name: 'qwen3_5_text', defaultKvHeads: 4 }, contextLength),
} as const satisfies Architecture

/** Qwen 3.5 with a mixture of experts in every layer, beside an expert that all tokens go through. */
export const qwen35Moe = {
  modelType: 'qwen3_5_moe_text',
  className: 'Qwen3_5MoeForCausalLM',
  seeing: { modelType: 'qwen3_5_moe', className: 'Qwen3_5MoeForConditionalGeneration' },
  gguf: { ...qwen35.gguf, name: 'qwen35moe' },
  mixes: true,
  tiny: {
    ...qwen35.tiny,
    tiedHead: false,
    config: () => ({
      ...qwen35.tiny.config(),
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 12,
      shared_expert_intermediate_size: 20,
    }),
  },
  read(fields, contextLength) {
    const experts = {
      defaultCount: 256,
      defaultChosen: 8,
      widthKey: 'moe_intermediate_size',
      defaultWidth: 512,
      shared: { key: 'shared_expert_intermediate_size', defaultWidth: 512 },
      form: 'apart',
      weighed: 'chosen',
    } as const
    return readQwen35(fields, { name: 'qwen3_5_moe_text', defaultKvHeads: 2, experts }, contextLength)
  },
} as const satisfies Architecture

function readQwen35(
  fields: Fields,
  own: Pick<ArchitectureTraits, 'name' | 'defaultKvHeads' | 'experts'>,
  contextLength: number | null,
): ModelConfig {
  const traits = {
    ...own,
    defaultHeadDim: 256,
    defaultMaxPositions: 32_768,
    defaultRotatedShare: 0.25,
    defaultBosId: null,
    defaultEosIds: [],
    linears: [
      'in_proj_qkv',
      'in_proj_z',
      'in_proj_b',
      'in_proj_a',
      'linear_attn.out_proj',
      ...separateLinears,
    ],
    biases: attentionBiases(fields),
    norm: 'rms-offset',
    qkNorm: 'head',
  } as const
  const config = readDecoderConfig(fields, traits, contextLength)
  return { ...config, attentionGate: true, mixers: mixersOf(fields, config) }
}

/** Puts linear attention in the place of attention, by the types of layers or by how often one attends. */
function mixersOf(fields: Fields, config: ModelConfig): LayerMixer[] {
  const interval = fields.integer('full_attention_interval', { min: 1, max: 1_024, fallback: 4 })
  return replacedMixers(fields, config, {
    mixer: deltaOf(fields),
    type: 'linear_attention',
    otherwise: (layer) => (layer + 1) % interval !== 0,
  })
}

function deltaOf(fields: Fields): DeltaRule {
  const whole = (key: string, fallback: number, max: number) => fields.integer(key, { min: 1, max, fallback })
  const delta: DeltaRule = {
    kind: 'delta',
    kernel: fields.integer('linear_conv_kernel_dim', { min: 2, max: 64, fallback: 4 }),
    keyHeads: whole('linear_num_key_heads', 16, 1_024),
    valueHeads: whole('linear_num_value_heads', 32, 1_024),
    keyDim: whole('linear_key_head_dim', 128, 1_024),
    valueDim: whole('linear_value_head_dim', 128, 1_024),
  }
  if (delta.valueHeads % delta.keyHeads !== 0) {
    throw fields.invalid('linear_num_value_heads', `a multiple of linear_num_key_heads (${delta.keyHeads})`)
  }
  if (recurrentWidth(delta) > 1 << 20) throw fields.invalid('linear_value_head_dim', 'a smaller number')
  return delta
}

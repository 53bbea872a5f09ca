import { attentionBiases, mlpBiases, type Architecture, readDecoderConfig, refuseWindows } from './common.ts'

/** Seed-OSS: Llama with biases on q, k and v and heads of a width of their own. ByteDance Seed 2025, its model card. */
export const seedOss = {
  modelType: 'seed_oss',
  className: 'SeedOssForCausalLM',
  gguf: { name: 'seed_oss', isPermuted: false, renamed: { ffn_norm: 'post_attention_norm' } },
  tiny: { headDim: 24, tiedHead: false },
  read(fields, contextLength) {
    refuseWindows(fields)
    const has = fields.boolean('attention_bias', true)
    const traits = {
      name: 'seed_oss',
      defaultKvHeads: 8,
      defaultHeadDim: 128,
      defaultMaxPositions: 524_288,
      defaultBosId: 0,
      defaultEosIds: [2],
      biases: {
        ...attentionBiases(fields),
        q_proj: has,
        k_proj: has,
        v_proj: has,
        o_proj: fields.boolean('attention_out_bias', false),
        ...mlpBiases(fields),
      },
    }
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

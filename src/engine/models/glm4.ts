import { type Architecture, readDecoderConfig, refuseWindows } from './common.ts'

/** GLM 4 of April 2025, dense: norms around both branches, half of each head rotated. GLM Team 2024, arXiv:2406.12793. */
export const glm4 = {
  modelType: 'glm4',
  className: 'Glm4ForCausalLM',
  gguf: { name: 'glm4', isPermuted: false },
  tiny: { headDim: 24, tiedHead: false, config: () => ({ partial_rotary_factor: 0.5 }) },
  read(fields, contextLength) {
    refuseWindows(fields)
    const has = fields.boolean('attention_bias', true)
    const traits = {
      name: 'glm4',
      defaultKvHeads: 2,
      defaultHeadDim: 128,
      defaultMaxPositions: 131_072,
      defaultRotatedShare: 0.5,
      defaultNormEpsilon: 1.5625e-7,
      defaultBosId: null,
      defaultEosIds: [151_329, 151_336, 151_338],
      linears: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_up_proj', 'down_proj'],
      biases: { q_proj: has, k_proj: has, v_proj: has },
      blockNorms: {
        beforeAttention: 'input_layernorm',
        afterAttention: 'post_self_attn_layernorm',
        beforeMlp: 'post_attention_layernorm',
        afterMlp: 'post_mlp_layernorm',
      },
    } as const
    return { ...readDecoderConfig(fields, traits, contextLength), rotatedPairs: 'adjacent' }
  },
} as const satisfies Architecture

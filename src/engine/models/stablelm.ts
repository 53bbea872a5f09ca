import { type Architecture, readDecoderConfig, refuseWindows, unsupported } from './common.ts'

/** StableLM 2: layer norms with biases, heads rotated in part. Bellagente et al. 2024, arXiv:2402.17834. */
export const stablelm = {
  modelType: 'stablelm',
  className: 'StableLmForCausalLM',
  gguf: { name: 'stablelm', isPermuted: false },
  tiny: {
    tiedHead: false,
    config: ({ normEpsilon }) => ({ layer_norm_eps: normEpsilon, use_qkv_bias: true }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    if (fields.boolean('use_parallel_residual', false)) {
      throw unsupported(fields, 'attention and MLP side by side (parallel residual)')
    }
    if (fields.boolean('qk_layernorm', false)) throw unsupported(fields, 'layer norms on the heads')
    const has = fields.boolean('use_qkv_bias', false)
    const traits = {
      name: 'stablelm',
      defaultKvHeads: 32,
      defaultHeadDim: null,
      defaultMaxPositions: 4_096,
      defaultRotatedShare: 0.25,
      defaultBosId: 0,
      defaultEosIds: [0],
      norm: 'layer',
      normEpsilonKey: 'layer_norm_eps',
      defaultNormEpsilon: 1e-5,
      biases: { q_proj: has, k_proj: has, v_proj: has },
    } as const
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

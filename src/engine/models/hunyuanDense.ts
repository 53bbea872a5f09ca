import { attentionBiases, type Architecture, names, readDecoderConfig, refuseWindows } from './common.ts'

/** Hunyuan's dense models: Llama with norms of each head's q and k after they are rotated. Tencent 2025, its model card. */
export const hunyuanDense = {
  modelType: 'hunyuan_v1_dense',
  className: 'HunYuanDenseV1ForCausalLM',
  gguf: { name: 'hunyuan-dense', isPermuted: false },
  tiny: {
    headDim: 24,
    tiedHead: true,
    config: () => ({ rope_scaling: { type: 'dynamic', alpha: 50, factor: 1 } }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      name: 'hunyuan_v1_dense',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 2_048,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 1,
      defaultEosIds: [2],
      qkNorm: 'rotated-head',
      biases: attentionBiases(fields),
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const norms = { queryNorm: 'self_attn.query_layernorm', keyNorm: 'self_attn.key_layernorm' }
    return { ...config, names: { ...names, ...norms } }
  },
} as const satisfies Architecture

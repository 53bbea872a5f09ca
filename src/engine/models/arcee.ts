import { type Architecture, attentionBiases, mlpBiases, readDecoderConfig, refuseWindows } from './common.ts'

/** Arcee's foundation models (AFM): Llama with an MLP without a gate, under the square of ReLU. Arcee AI 2025, its model card. */
export const arcee = {
  modelType: 'arcee',
  className: 'ArceeForCausalLM',
  gguf: { name: 'arcee', isPermuted: true },
  tiny: { tiedHead: false, intermediateSize: 64, deviation: 0.15, config: () => ({ hidden_act: 'relu2' }) },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      name: 'arcee',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 4_096,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 128_000,
      defaultEosIds: [128_001],
      activationName: 'relu2',
      linears: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'],
      biases: { ...attentionBiases(fields), ...mlpBiases(fields) },
    } as const
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

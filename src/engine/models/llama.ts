import { type Architecture, readDecoderConfig, refuseWindows, attentionBiases, mlpBiases } from './common.ts'

/** Llama 1–3 and what is shaped like it (SmolLM, SmolLM2, TinyLlama, …). Touvron et al. 2023, arXiv:2302.13971. */
export const llama = {
  modelType: 'llama',
  className: 'LlamaForCausalLM',
  gguf: { name: 'llama', isPermuted: true },
  tiny: {
    tiedHead: false,
    intermediateSize: 64,
    deviation: 0.15,
    config: () => ({ attention_bias: false, mlp_bias: false }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      name: 'llama',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 2_048,
      defaultBosId: 1,
      defaultEosIds: [2],
      biases: { ...attentionBiases(fields), ...mlpBiases(fields) },
    }
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

import { attentionBiases, type Architecture, readDecoderConfig } from './common.ts'
import { withUpperWindows } from './qwen2.ts'

/** Qwen 3, dense: q and k are normalised per head, heads have a width of their own. Yang et al. 2025, arXiv:2505.09388. */
export const qwen3 = {
  modelType: 'qwen3',
  className: 'Qwen3ForCausalLM',
  gguf: { name: 'qwen3', isPermuted: false },
  tiny: {
    hiddenSize: 64,
    kvHeads: 4,
    headDim: 24,
    intermediateSize: 96,
    tiedHead: true,
    deviation: 0.15,
    config: () => ({ attention_bias: false, use_sliding_window: false }),
  },
  read(fields, contextLength) {
    const traits = {
      name: 'qwen3',
      defaultKvHeads: 32,
      defaultHeadDim: 128,
      defaultMaxPositions: 32_768,
      defaultBosId: null,
      defaultEosIds: [],
      qkNorm: 'head',
      biases: attentionBiases(fields),
    } as const
    return withUpperWindows(fields, readDecoderConfig(fields, traits, contextLength))
  },
} as const satisfies Architecture

import { attentionBiases, type Architecture, readDecoderConfig, refuseWindows } from './common.ts'

/** OLMo 2: norms behind the branches, and over all of q and of k. OLMo Team 2024, arXiv:2501.00656. */
export const olmo2 = {
  modelType: 'olmo2',
  className: 'Olmo2ForCausalLM',
  gguf: { name: 'olmo2', isPermuted: false },
  tiny: { tiedHead: false },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      name: 'olmo2',
      ...olmoTraits,
      biases: attentionBiases(fields),
    } as const
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

/** Norms behind the branches, and over all of q and of k. */
export const olmo2Norms = {
  qkNorm: 'all',
  blockNorms: {
    beforeAttention: null,
    afterAttention: 'post_attention_layernorm',
    beforeMlp: null,
    afterMlp: 'post_feedforward_layernorm',
  },
} as const

/** Traits of OLMo 2 and 3. */
export const olmoTraits = {
  defaultKvHeads: null,
  defaultHeadDim: null,
  defaultMaxPositions: 2_048,
  defaultNormEpsilon: 1e-5,
  defaultBosId: null,
  defaultEosIds: [50_279],
  ...olmo2Norms,
} as const

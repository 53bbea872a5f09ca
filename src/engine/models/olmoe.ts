import {
  attentionBiases,
  type Architecture,
  readDecoderConfig,
  refuseWindows,
  unsupported,
} from './common.ts'

/** OLMoE: a mixture of experts in every layer, and all of q and k normed together. Muennighoff et al. 2024, arXiv:2409.02060. */
export const olmoe = {
  modelType: 'olmoe',
  className: 'OlmoeForCausalLM',
  gguf: { name: 'olmoe', isPermuted: false },
  mixes: true,
  tiny: {
    intermediateSize: 24,
    tiedHead: false,
    config: () => ({ num_experts: 3, num_experts_per_tok: 2 }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    if (fields.has('clip_qkv')) throw unsupported(fields, 'limits on q, k and v (“clip_qkv”)')
    const traits = {
      name: 'olmoe',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 4_096,
      defaultBosId: null,
      defaultEosIds: [50_279],
      defaultNormEpsilon: 1e-5,
      qkNorm: 'all',
      biases: attentionBiases(fields),
      experts: {
        defaultCount: 64,
        defaultChosen: 8,
        widthKey: 'intermediate_size',
        defaultWidth: 2_048,
        form: 'apart',
      },
    } as const
    return readDecoderConfig(fields, traits, contextLength)
  },
} as const satisfies Architecture

import { attentionBiases, type Architecture, readDecoderConfig, refuseWindows } from './common.ts'
import { graniteFactors } from './granite.ts'

/** Granite 3 with a mixture of experts in every layer, whose checkpoints stack the experts. */
export const graniteMoe = {
  modelType: 'granitemoe',
  className: 'GraniteMoeForCausalLM',
  gguf: { name: 'granitemoe', isPermuted: true },
  mixes: true,
  tiny: {
    intermediateSize: 24,
    tiedHead: true,
    config: () => ({
      num_local_experts: 4,
      num_experts_per_tok: 1,
      embedding_multiplier: 4,
      attention_multiplier: 0.5,
      residual_multiplier: 0.7,
      logits_scaling: 2,
    }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      name: 'granitemoe',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 2_048,
      defaultBosId: 1,
      defaultEosIds: [2],
      biases: attentionBiases(fields),
      experts: {
        defaultCount: 8,
        defaultChosen: 2,
        widthKey: 'intermediate_size',
        defaultWidth: 11_008,
        form: 'stacked',
        weighed: 'chosen',
      },
    } as const
    return { ...readDecoderConfig(fields, traits, contextLength), ...graniteFactors(fields) }
  },
} as const satisfies Architecture

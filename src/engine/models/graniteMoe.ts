import { attentionBiases, type Architecture, readDecoderConfig, refuseWindows } from './common.ts'
import { graniteFactors, graniteTraits, tinyFactors } from './granite.ts'

/** Defaults of the classes. */
export const graniteExperts = {
  defaultCount: 8,
  defaultChosen: 2,
  widthKey: 'intermediate_size',
  defaultWidth: 11_008,
  form: 'stacked',
  weighed: 'chosen',
} as const

/** Granite 3 with a mixture of experts in every layer, whose checkpoints stack the experts. */
export const graniteMoe = {
  modelType: 'granitemoe',
  className: 'GraniteMoeForCausalLM',
  gguf: { name: 'granitemoe', isPermuted: true },
  mixes: true,
  tiny: {
    intermediateSize: 24,
    tiedHead: true,
    config: () => ({ num_local_experts: 4, num_experts_per_tok: 1, ...tinyFactors }),
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    const traits = {
      ...graniteTraits,
      name: 'granitemoe',
      biases: attentionBiases(fields),
      experts: graniteExperts,
    } as const
    return { ...readDecoderConfig(fields, traits, contextLength), ...graniteFactors(fields) }
  },
} as const satisfies Architecture

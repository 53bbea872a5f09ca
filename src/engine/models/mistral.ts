import { attentionLayout, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig } from './common.ts'

/** Mistral: Llama whose layers may all slide. Jiang et al. 2023, arXiv:2310.06825. */
export const mistral = {
  modelType: 'mistral',
  className: 'MistralForCausalLM',
  gguf: { name: 'llama', isPermuted: true },
  tiny: { tiedHead: false, config: () => ({ sliding_window: 32 }) },
  read(fields, contextLength) {
    const traits = {
      name: 'mistral',
      defaultKvHeads: 8,
      defaultHeadDim: null,
      defaultMaxPositions: 131_072,
      defaultBosId: 1,
      defaultEosIds: [2],
    }
    const config = readDecoderConfig(fields, traits, contextLength)
    const kind = { window: windowSize(fields, 4_096), rope: config.ropes[0] ?? null }
    return { ...config, ...attentionLayout(Array<typeof kind>(config.layers).fill(kind), config) }
  },
} as const satisfies Architecture

import { attentionLayout, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig } from './common.ts'

/** Phi 3, 3.5 and 4: q, k and v in one projection, gate and up in another. Abdin et al. 2024, arXiv:2404.14219. */
export const phi3 = {
  modelType: 'phi3',
  className: 'Phi3ForCausalLM',
  gguf: { name: 'phi3', isPermuted: false },
  tiny: { tiedHead: false },
  read(fields, contextLength) {
    const traits = {
      name: 'phi3',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 4_096,
      defaultRotatedShare: 1,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 1,
      defaultEosIds: [32_000],
      linears: ['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj'],
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const kind = { window: windowSize(fields, null), rope: config.ropes[0] ?? null }
    return { ...config, ...attentionLayout(Array<typeof kind>(config.layers).fill(kind), config) }
  },
} as const satisfies Architecture

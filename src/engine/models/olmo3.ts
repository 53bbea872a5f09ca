import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import { attentionBiases, type Architecture, readDecoderConfig } from './common.ts'
import { slidingRope } from './gemma3.ts'
import { olmoTraits } from './olmo2.ts'

/** OLMo 3: OLMo 2 with a window on three of four layers; only the others stretch their positions. OLMo Team 2025, arXiv:2512.13961. */
export const olmo3 = {
  modelType: 'olmo3',
  className: 'Olmo3ForCausalLM',
  gguf: { name: 'olmo2', isPermuted: false, slides: true },
  tiny: { layers: 4, tiedHead: false, config: () => ({ sliding_window: 32 }) },
  read(fields, contextLength) {
    const theta = 500_000
    const traits = {
      name: 'olmo3',
      ...olmoTraits,
      defaultTheta: theta,
      biases: attentionBiases(fields),
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const windows = readWindows(fields, config.layers, {
      size: windowSize(fields, 4_096),
      slides: (layer) => (layer + 1) % 4 !== 0,
    })
    const global = config.ropes[0] ?? null
    const local = slidingRope(
      fields,
      config.headDim,
      fields.number('rope_theta', { min: 1.001, max: 1e12, fallback: theta }),
    )
    const kinds = windows.map((window) => ({ window, rope: window === null ? global : local }))
    return { ...config, ...attentionLayout(kinds, config) }
  },
} as const satisfies Architecture

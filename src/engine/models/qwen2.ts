import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig } from './common.ts'
import type { ModelConfig } from './config.ts'
import type { Fields } from './fields.ts'

/** Qwen 2 and 2.5: biases on q, k and v, always. Yang et al. 2024, arXiv:2407.10671. */
export const qwen2 = {
  modelType: 'qwen2',
  className: 'Qwen2ForCausalLM',
  gguf: { name: 'qwen2', isPermuted: false },
  tiny: {
    hiddenSize: 48,
    heads: 6,
    intermediateSize: 80,
    tiedHead: true,
    deviation: 0.15,
    config: () => ({ use_sliding_window: false }),
  },
  read(fields, contextLength) {
    const traits = {
      name: 'qwen2',
      defaultKvHeads: 32,
      defaultHeadDim: null,
      defaultMaxPositions: 32_768,
      defaultBosId: null,
      defaultEosIds: [],
      biases: { q_proj: true, k_proj: true, v_proj: true },
    }
    return withUpperWindows(fields, readDecoderConfig(fields, traits, contextLength))
  },
} as const satisfies Architecture

/** Layers from `max_window_layers` on slide where `use_sliding_window` says so. */
export function withUpperWindows(fields: Fields, config: ModelConfig): ModelConfig {
  const isOn = fields.boolean('use_sliding_window', false)
  const first = fields.integer('max_window_layers', { min: 0, max: 1_024, fallback: 28 })
  const windows = readWindows(fields, config.layers, {
    size: isOn ? windowSize(fields, 4_096) : null,
    slides: (layer) => isOn && fields.has('sliding_window') && layer >= first,
  })
  const rope = config.ropes[0] ?? null
  return {
    ...config,
    ...attentionLayout(
      windows.map((window) => ({ window, rope })),
      config,
    ),
  }
}

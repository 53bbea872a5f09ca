import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import { attentionBiases, mlpBiases, type Architecture, readDecoderConfig } from './common.ts'
import type { Fields } from './fields.ts'

/** SmolLM 3: every fourth layer has no rotary embedding (NoPE; Yang et al. 2025, arXiv:2501.18795). */
export const smollm3 = {
  modelType: 'smollm3',
  className: 'SmolLM3ForCausalLM',
  gguf: { name: 'smollm3', isPermuted: true },
  tiny: { layers: 4, tiedHead: true },
  read(fields, contextLength) {
    const traits = {
      name: 'smollm3',
      defaultKvHeads: 4,
      defaultHeadDim: null,
      defaultMaxPositions: 32_768,
      defaultTheta: 2_000_000,
      defaultBosId: 128_000,
      defaultEosIds: [128_001],
      defaultTied: true,
      biases: { ...attentionBiases(fields), ...mlpBiases(fields) },
    }
    const config = readDecoderConfig(fields, traits, contextLength)
    const rotates = rotatingLayers(fields, config.layers)
    const isOn = fields.boolean('use_sliding_window', false)
    const size = windowSize(fields, null)
    const windows = readWindows(fields, config.layers, {
      size,
      slides: (layer) => isOn && size !== null && rotates[layer] === false,
    })
    const kinds = windows.map((window, layer) => ({
      window,
      rope: rotates[layer] === true ? (config.ropes[0] ?? null) : null,
    }))
    return { ...config, ...attentionLayout(kinds, config) }
  },
} as const satisfies Architecture

/** `no_rope_layers` has a 1, despite its name, for each layer that rotates. */
function rotatingLayers(fields: Fields, layers: number): readonly boolean[] {
  const interval = fields.integer('no_rope_layer_interval', { min: 1, max: 1_024, fallback: 4 })
  const given = fields.numbers('no_rope_layers', { min: 0, max: 1 })
  if (given.length > 0 && given.length !== layers) {
    throw fields.invalid('no_rope_layers', `a list of ${layers} zeros and ones`)
  }
  return Array.from({ length: layers }, (_, layer) =>
    given.length > 0 ? given[layer] !== 0 : (layer + 1) % interval !== 0,
  )
}

import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig } from './common.ts'
import type { Fields } from './fields.ts'
import { olmo2Norms } from './olmo2.ts'

/** EXAONE 4: norms behind the branches, windows on most layers, no rotation on the others. LG AI Research 2025, arXiv:2507.11407. */
export const exaone4 = {
  modelType: 'exaone4',
  className: 'Exaone4ForCausalLM',
  gguf: { name: 'exaone4', isPermuted: false },
  tiny: { layers: 4, tiedHead: true, config: () => ({ sliding_window: 32, sliding_window_pattern: 4 }) },
  read(fields, contextLength) {
    const traits = {
      name: 'exaone4',
      defaultKvHeads: 32,
      defaultHeadDim: null,
      defaultMaxPositions: 2_048,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 0,
      defaultEosIds: [2],
      ...olmo2Norms,
      qkNorm: 'head',
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const size = windowSize(fields, 4_096)
    const slides = size === null ? () => false : patternOf(fields, config.layers)
    const windows = readWindows(fields, config.layers, { size, slides })
    const rope = config.ropes[0] ?? null
    // Without any window every layer rotates.
    const kinds = windows.map((window) => ({ window, rope: size === null || window !== null ? rope : null }))
    return { ...config, ...attentionLayout(kinds, config) }
  },
} as const satisfies Architecture

/** Reads an interval, or letters that repeat, L for a layer with a window; the last layer has none then. */
function patternOf(fields: Fields, layers: number): (layer: number) => boolean {
  if (typeof fields.value('sliding_window_pattern') !== 'string') {
    const interval = fields.integer('sliding_window_pattern', { min: 1, max: 1_024, fallback: 4 })
    return (layer) => (layer + 1) % interval !== 0
  }
  const letters = fields.text('sliding_window_pattern', 'LLLG')
  if (!/^[LG]{1,1024}$/.test(letters))
    throw fields.invalid('sliding_window_pattern', 'letters L and G, or a number')
  return (layer) => letters[layer % letters.length] === 'L' && layer < layers - 1
}

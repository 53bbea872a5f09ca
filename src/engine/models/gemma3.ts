import { attentionLayout, readRopeOf, readWindows, ropeFields, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig, ropeTraits } from './common.ts'
import type { RopeConfig } from './config.ts'
import { Fields } from './fields.ts'
import { gemmaActivation, gemmaFactors, gemmaTraits } from './gemma2.ts'

/** Gemma 3, text: q and k are normalised, five local layers for each global one, with a rotary base each. Gemma Team 2025, arXiv:2503.19786. */
export const gemma3 = {
  modelType: 'gemma3_text',
  className: 'Gemma3ForCausalLM',
  gguf: { name: 'gemma3', isPermuted: false },
  tiny: {
    layers: 3,
    headDim: 16,
    tiedHead: true,
    config: () => ({
      ...gemmaActivation,
      sliding_window: 32,
      sliding_window_pattern: 3,
      query_pre_attn_scalar: 16,
    }),
  },
  read(fields, contextLength) {
    const traits = {
      ...gemmaTraits(fields),
      name: 'gemma3_text',
      defaultMaxPositions: 131_072,
      defaultTheta: 1_000_000,
      qkNorm: 'head',
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const interval = fields.integer('sliding_window_pattern', { min: 1, max: 1_024, fallback: 6 })
    const windows = readWindows(fields, config.layers, {
      size: windowSize(fields, 4_096),
      slides: (layer) => (layer + 1) % interval !== 0,
    })
    const global = config.ropes[0] ?? null
    const theta = fields.number('rope_local_base_freq', { min: 1.001, max: 1e12, fallback: 10_000 })
    const local = slidingRope(fields, config.headDim, theta)
    const kinds = windows.map((window) => ({ window, rope: window === null ? global : local }))
    return {
      ...config,
      ...gemmaFactors(fields, config, { attention: null, final: null }),
      ...attentionLayout(kinds, config),
    }
  },
} as const satisfies Architecture

/** Returns the rotation of layers that slide, which are never stretched: `rope_scaling` is about the others. */
export function slidingRope(fields: Fields, headDim: number, theta: number): RopeConfig {
  const given = fields.has('rope_parameters') ? ropeFields(fields, 'sliding_attention') : null
  const isOwn = given?.has('rope_theta') === true && fields.object('rope_parameters').has('sliding_attention')
  const rope = isOwn ? given : new Fields({ rope_theta: theta }, fields.where)
  const limits = { maxPositions: 1, contextLength: 1 } // a plain rotation knows no limit
  return readRopeOf(fields, rope, ropeTraits({ defaultTheta: theta }, headDim), limits)
}

import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import { type Architecture, attentionBiases, readDecoderConfig } from './common.ts'
import type { Fields } from './fields.ts'

/** GPT-OSS: heads with sinks, a window on every second layer, and experts with biases under a clamped SwiGLU. OpenAI 2025, arXiv:2508.10925. */
export const gptOss = {
  modelType: 'gpt_oss',
  className: 'GptOssForCausalLM',
  gguf: { name: 'gpt-oss', isPermuted: false, renamed: { ffn_norm: 'post_attention_norm' } },
  mixes: true,
  packing: 'mxfp4',
  tiny: {
    intermediateSize: 24,
    tiedHead: false,
    config: () => ({
      num_local_experts: 4,
      num_experts_per_tok: 2,
      sliding_window: 32,
      rope_scaling: {
        rope_type: 'yarn',
        factor: 8,
        truncate: false,
        original_max_position_embeddings: 64,
      },
    }),
  },
  read(fields, contextLength) {
    requireStretch(fields)
    const traits = {
      name: 'gpt_oss',
      defaultKvHeads: 8,
      defaultHeadDim: 64,
      defaultMaxPositions: 131_072,
      defaultTheta: 150_000,
      defaultBosId: null,
      defaultEosIds: [],
      defaultNormEpsilon: 1e-5,
      biases: attentionBiases(fields, true),
      experts: {
        defaultCount: 128,
        defaultChosen: 4,
        widthKey: 'intermediate_size',
        defaultWidth: 2_880,
        form: 'paired',
        packing: 'mxfp4',
        weighed: 'chosen',
        biased: true,
        clamp: {
          limit: fields.number('swiglu_limit', { min: 0.01, max: 1e6, fallback: 7 }),
          alpha: fields.number('swiglu_alpha', { min: 0.01, max: 1e3, fallback: 1.702 }),
        },
      },
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const windows = readWindows(fields, config.layers, {
      size: windowSize(fields, 128),
      slides: (layer) => layer % 2 === 0,
    })
    const [rope = null] = config.ropes
    const kinds = windows.map((window) => ({ window, rope }))
    return { ...config, ...attentionLayout(kinds, config), hasSinks: true }
  },
} as const satisfies Architecture

/** Refuses a config without it: the class would stretch the positions by numbers that the checkpoint does not say. */
function requireStretch(fields: Fields): void {
  if (fields.has('rope_scaling') || fields.has('rope_parameters')) return
  throw fields.invalid('rope_parameters', 'an object that says how the positions are stretched')
}

import { replacedMixers } from './attentionLayout.ts'
import { type Architecture, names, readDecoderConfig } from './common.ts'
import type { LayerMixer, ModelConfig } from './config.ts'
import type { Fields } from './fields.ts'

/** LFM2 and LFM2.5: most layers convolve each channel over three positions, the others attend. Liquid AI 2025, arXiv:2511.23404. */
export const lfm2 = {
  modelType: 'lfm2',
  className: 'Lfm2ForCausalLM',
  gguf: { name: 'lfm2', isPermuted: false, renamed: { output_norm: 'token_embd_norm' } },
  tiny: {
    layers: 4,
    tiedHead: true,
    deviation: 0.15,
    config: ({ layers, normEpsilon }) => ({
      full_attn_idxs: Array.from({ length: layers }, (_, layer) => layer).filter((layer) => layer % 2 === 1),
      block_auto_adjust_ff_dim: false,
      norm_eps: normEpsilon,
    }),
  },
  read(fields, contextLength) {
    const traits = {
      name: 'lfm2',
      defaultKvHeads: 8,
      defaultHeadDim: null,
      defaultMaxPositions: 128_000,
      defaultTheta: 1_000_000,
      normEpsilonKey: 'norm_eps',
      defaultNormEpsilon: 1e-5,
      defaultBosId: 1,
      defaultEosIds: [2],
      linears: [
        'in_proj',
        'conv.out_proj',
        'q_proj',
        'k_proj',
        'v_proj',
        'self_attn.out_proj',
        'w1',
        'w3',
        'w2',
      ],
      blockNorms: {
        beforeAttention: 'operator_norm',
        afterAttention: null,
        beforeMlp: 'ffn_norm',
        afterMlp: null,
      },
      defaultTied: true,
      qkNorm: 'head',
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    const bias = fields.boolean('conv_bias', false)
    return {
      ...config,
      tiedHead: fields.boolean('tie_embedding', config.tiedHead),
      intermediateSize: innerSize(fields, config),
      biases: { in_proj: bias, 'conv.out_proj': bias },
      mixers: mixersOf(fields, config, bias),
      names: {
        ...names,
        finalNorm: 'model.embedding_norm',
        queryNorm: 'self_attn.q_layernorm',
        keyNorm: 'self_attn.k_layernorm',
      },
    }
  },
} as const satisfies Architecture

/** Two thirds of the size that the config gives, times a factor, rounded up. */
function innerSize(fields: Fields, { intermediateSize }: Pick<ModelConfig, 'intermediateSize'>): number {
  const size = fields.integer('block_ff_dim', { min: 1, max: 1 << 20, fallback: intermediateSize })
  if (!fields.boolean('block_auto_adjust_ff_dim', true)) return size
  const shrunk = Math.trunc((2 * size) / 3)
  if (fields.isNull('block_ffn_dim_multiplier')) return shrunk
  const factor = fields.number('block_ffn_dim_multiplier', { min: 1e-3, max: 1e3, fallback: 1 })
  const unit = fields.integer('block_multiple_of', { min: 1, max: 1 << 16, fallback: 256 })
  return unit * Math.ceil(Math.trunc(factor * shrunk) / unit)
}

/** Puts convolutions in the place of attention, by the types of layers or by the numbers of those that attend; without either all do. */
function mixersOf(fields: Fields, { layers, mixers }: ModelConfig, bias: boolean): LayerMixer[] {
  const kernel = fields.integer('conv_L_cache', { min: 2, max: 64, fallback: 3 })
  const attending = fields.has('full_attn_idxs')
    ? fields.numbers('full_attn_idxs', { min: 0, max: layers - 1 })
    : mixers.keys().toArray()
  return replacedMixers(
    fields,
    { mixers },
    {
      mixer: { kind: 'convolution', kernel, bias },
      type: 'conv',
      otherwise: (layer) => !attending.includes(layer),
    },
  )
}

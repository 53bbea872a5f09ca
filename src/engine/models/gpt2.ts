import { invalidConfig } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import {
  type Architecture,
  plainFactors,
  qkNormNames,
  readSpecialTokens,
  refuseUnsupported,
  unsupported,
} from './common.ts'
import type { LinearName, ModelConfig } from './config.ts'
import type { Fields } from './fields.ts'

const linears: readonly LinearName[] = ['c_attn', 'attn.c_proj', 'c_fc', 'mlp.c_proj']

/** GPT-2: learned positions, layer norms, one projection for q, k and v, an MLP without a gate. Radford et al. 2019. */
export const gpt2 = {
  modelType: 'gpt2',
  className: 'GPT2LMHeadModel',
  gguf: { name: 'gpt2', isPermuted: false },
  tiny: {
    kvHeads: 4,
    tiedHead: true,
    config: (sizes) => ({
      n_embd: sizes.hiddenSize,
      n_inner: sizes.intermediateSize,
      n_layer: sizes.layers,
      n_head: sizes.heads,
      n_positions: sizes.maxPositions,
      activation_function: 'gelu_new',
      layer_norm_epsilon: sizes.normEpsilon,
    }),
  },
  read(fields, wantedContext) {
    refuseUnsupported(fields)
    requirePlain(fields)
    const heads = fields.integer('n_head', { min: 1, max: 1_024, fallback: 12 })
    const hiddenSize = fields.integer('n_embd', { min: 1, max: 65_536, fallback: 768 })
    const headDim = hiddenSize / heads
    if (!Number.isInteger(headDim)) throw fields.invalid('n_embd', `a multiple of n_head (${heads})`)
    const layers = fields.integer('n_layer', { min: 1, max: 1_024, fallback: 12 })
    return {
      architecture: 'gpt2',
      layers,
      hiddenSize,
      heads,
      kvHeads: heads,
      headDim,
      intermediateSize: fields.integer('n_inner', { min: 1, max: 1 << 20, fallback: 4 * hiddenSize }),
      ...lengths(fields, wantedContext),
      linears,
      biases: Object.fromEntries(linears.map((name) => [name, true])),
      transposedLinears: true,
      activation: 'gelu-tanh',
      norm: 'layer',
      normEpsilon: fields.number('layer_norm_epsilon', { min: 1e-12, max: 0.1, fallback: 1e-5 }),
      blockNorms: { beforeAttention: 'ln_1', afterAttention: null, beforeMlp: 'ln_2', afterMlp: null },
      qkNorm: 'none',
      rotatedPairs: 'halves',
      attentionScale: fields.boolean('scale_attn_weights', true) ? headDim ** -0.5 : 1,
      ...plainFactors,
      ropes: [],
      windows: [null],
      mixers: Array.from({ length: layers }, () => ({ kind: 'attention', window: 0, rope: null })),
      experts: null,
      tiedHead: fields.boolean('tie_word_embeddings', true),
      names: {
        embedding: 'transformer.wte.weight',
        positions: 'transformer.wpe.weight',
        layers: 'transformer.h.',
        finalNorm: 'transformer.ln_f',
        head: 'lm_head.weight',
        ...qkNormNames,
      },
      ...readSpecialTokens(fields, { defaultBosId: 50_256, defaultEosIds: [50_256] }),
    }
  },
} as const satisfies Architecture

function lengths(fields: Fields, wanted: number | null): Pick<ModelConfig, 'maxPositions' | 'contextLength'> {
  const maxPositions = fields.integer('n_positions', { min: 1, max: 1 << 24, fallback: 1_024 })
  if (wanted !== null && wanted > maxPositions) {
    throw invalidConfig(
      `A context of ${wanted} tokens exceeds the ${maxPositions} positions of ${fields.where}.`,
      'Choose a shorter context length, or none.',
    )
  }
  return { maxPositions, contextLength: wanted ?? maxPositions }
}

function requirePlain(fields: Fields): void {
  const activation = fields.text('activation_function', 'gelu_new')
  if (activation !== 'gelu_new' && activation !== 'gelu_pytorch_tanh') {
    throw unsupported(fields, `the activation “${shorten(activation)}”`)
  }
  if (fields.boolean('scale_attn_by_inverse_layer_idx', false)) {
    throw unsupported(fields, 'attention scaled by the number of the layer')
  }
  if (fields.boolean('add_cross_attention', false)) throw unsupported(fields, 'cross-attention')
}

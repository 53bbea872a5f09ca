import { type Architecture, readDecoderConfig, unsupported } from './common.ts'
import { type DeltaRule, type LayerMixer, type ModelConfig, deltaWidth } from './config.ts'
import type { Fields } from './fields.ts'
import { shorten } from '#shared/plural.ts'

/**
 * Qwen 3.5, dense, text: three of four layers attend linearly by the gated delta rule (Yang et al. 2024, arXiv:2412.06464), the
 * fourth with a gate, and a quarter of each head rotated.
 */
export const qwen35 = {
  modelType: 'qwen3_5_text',
  className: 'Qwen3_5ForCausalLM',
  seeing: { modelType: 'qwen3_5', className: 'Qwen3_5ForConditionalGeneration' },
  gguf: null,
  tiny: {
    layers: 4,
    headDim: 16,
    tiedHead: true,
    deviation: 0.22,
    normEpsilon: 1e-2,
    config: () => ({
      linear_num_key_heads: 2,
      linear_num_value_heads: 4,
      linear_key_head_dim: 8,
      linear_value_head_dim: 8,
    }),
  },
  read(fields, contextLength) {
    const has = fields.boolean('attention_bias', false)
    const traits = {
      name: 'qwen3_5_text',
      defaultKvHeads: 4,
      defaultHeadDim: 256,
      defaultMaxPositions: 32_768,
      defaultRotatedShare: 0.25,
      defaultBosId: null,
      defaultEosIds: [],
      linears: [
        'in_proj_qkv',
        'in_proj_z',
        'in_proj_b',
        'in_proj_a',
        'linear_attn.out_proj',
        'q_proj',
        'k_proj',
        'v_proj',
        'o_proj',
        'gate_proj',
        'up_proj',
        'down_proj',
      ],
      biases: { q_proj: has, k_proj: has, v_proj: has, o_proj: has },
      norm: 'rms-offset',
      qkNorm: 'head',
    } as const
    const config = readDecoderConfig(fields, traits, contextLength)
    return { ...config, attentionGate: true, mixers: mixersOf(fields, config) }
  },
} as const satisfies Architecture

/** Reads which layers attend, from their types or from how often one does. */
function mixersOf(fields: Fields, { layers, mixers }: ModelConfig): LayerMixer[] {
  const types = fields.texts('layer_types')
  const strange = types.find((type) => type !== 'full_attention' && type !== 'linear_attention')
  if (strange !== undefined) throw unsupported(fields, `layers of type “${shorten(strange)}”`)
  if (types.length > 0 && types.length !== layers) {
    throw fields.invalid('layer_types', `a list of ${layers} types, one for each layer`)
  }
  const interval = fields.integer('full_attention_interval', { min: 1, max: 1_024, fallback: 4 })
  const attends = (layer: number) =>
    types.length > 0 ? types[layer] === 'full_attention' : (layer + 1) % interval === 0
  const delta = deltaOf(fields)
  const found = mixers.map((mixer, layer) => (attends(layer) ? mixer : delta))
  if (!found.some(({ kind }) => kind === 'attention')) throw unsupported(fields, 'linear attention alone')
  return found
}

function deltaOf(fields: Fields): DeltaRule {
  const whole = (key: string, fallback: number, max: number) => fields.integer(key, { min: 1, max, fallback })
  const delta: DeltaRule = {
    kind: 'delta',
    kernel: fields.integer('linear_conv_kernel_dim', { min: 2, max: 64, fallback: 4 }),
    keyHeads: whole('linear_num_key_heads', 16, 1_024),
    valueHeads: whole('linear_num_value_heads', 32, 1_024),
    keyDim: whole('linear_key_head_dim', 128, 1_024),
    valueDim: whole('linear_value_head_dim', 128, 1_024),
  }
  if (delta.valueHeads % delta.keyHeads !== 0) {
    throw fields.invalid('linear_num_value_heads', `a multiple of linear_num_key_heads (${delta.keyHeads})`)
  }
  if (deltaWidth(delta) > 1 << 20) throw fields.invalid('linear_value_head_dim', 'a smaller number')
  return delta
}

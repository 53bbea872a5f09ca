import { attentionLayout, replacedMixers } from './attentionLayout.ts'
import { attentionBiases, type Architecture, readDecoderConfig, unsupported } from './common.ts'
import { type ModelConfig, type StateSpace, recurrentWidth } from './config.ts'
import type { Fields } from './fields.ts'
import { graniteFactors, graniteTraits, tinyFactors } from './granite.ts'
import { graniteExperts } from './graniteMoe.ts'

/**
 * Granite 4: Granite 3 with gate and up in one matrix, beside experts in some; in most layers of a hybrid, Mamba-2 in the place of
 * attention.
 */
export const graniteHybrid = {
  modelType: 'granitemoehybrid',
  className: 'GraniteMoeHybridForCausalLM',
  gguf: null,
  mixes: true,
  tiny: {
    layers: 4,
    tiedHead: true,
    deviation: 0.2,
    config: ({ layers, intermediateSize }) => ({
      ...tinyFactors,
      num_local_experts: 0,
      shared_intermediate_size: intermediateSize,
      layer_types: Array.from({ length: layers }, (_, layer) => (layer % 2 === 1 ? 'attention' : 'mamba')),
      mamba_n_heads: 8,
      mamba_d_state: 8,
      mamba_expand: 2,
    }),
  },
  read(fields, contextLength) {
    const mixes = fields.integer('num_local_experts', { min: 0, max: 1_024, fallback: 8 }) > 0
    const traits = {
      ...graniteTraits,
      ...(mixes && { experts: graniteExperts }),
      name: 'granitemoehybrid',
      biases: { ...attentionBiases(fields), ...mambaBiases(fields) },
      linears: [
        'mamba.in_proj',
        'mamba.out_proj',
        'q_proj',
        'k_proj',
        'v_proj',
        'o_proj',
        'shared_mlp.input_linear',
        'shared_mlp.output_linear',
      ],
    } as const
    const read = readDecoderConfig(fields, traits, contextLength)
    const layout = rotates(fields)
      ? read
      : attentionLayout(
          read.mixers.map(() => ({ window: null, rope: null })),
          read,
        )
    const config = { ...read, ...layout, ...graniteFactors(fields), intermediateSize: innerSize(fields) }
    return { ...config, mixers: mixersOf(fields, config) }
  },
} as const satisfies Architecture

const mambaBiases = (fields: Fields): ModelConfig['biases'] => {
  const has = fields.boolean('mamba_proj_bias', false)
  return { 'mamba.in_proj': has, 'mamba.out_proj': has }
}

const innerSize = (fields: Fields): number =>
  fields.integer('shared_intermediate_size', { min: 1, max: 1 << 20, fallback: 1_024 })

/** False where attention knows no positions, as in the hybrids. */
function rotates(fields: Fields): boolean {
  const type = fields.text('position_embedding_type', 'nope')
  if (type !== 'rope' && type !== 'nope') throw unsupported(fields, `positions of the type “${type}”`)
  return type === 'rope'
}

function mixersOf(fields: Fields, config: ModelConfig): ModelConfig['mixers'] {
  const types = fields.texts('layer_types')
  if (types.length > 0 && types.every((type) => type === 'attention' || type === 'full_attention'))
    return config.mixers
  const mixer = stateOf(fields, config)
  return replacedMixers(fields, config, { mixer, type: 'linear_attention', otherwise: () => true })
}

function stateOf(fields: Fields, { hiddenSize }: ModelConfig): StateSpace {
  const whole = (key: string, fallback: number) => fields.integer(key, { min: 1, max: 1 << 16, fallback })
  if (!isUnlimited(fields)) throw unsupported(fields, 'limits on the steps of its state spaces')
  const [heads, width] = [whole('mamba_n_heads', 128), whole('mamba_expand', 2) * hiddenSize]
  const valueDim =
    fields.value('mamba_d_head') === 'auto' ? width / heads : whole('mamba_d_head', width / heads)
  if (width % heads !== 0 || valueDim * heads !== width)
    throw fields.invalid('mamba_n_heads', `a number whose heads divide ${String(width)} channels`)
  const state: StateSpace = {
    kind: 'state',
    kernel: fields.integer('mamba_d_conv', { min: 2, max: 64, fallback: 4 }),
    bias: fields.boolean('mamba_conv_bias', true),
    keyHeads: whole('mamba_n_groups', 1),
    valueHeads: heads,
    keyDim: whole('mamba_d_state', 256),
    valueDim,
  }
  if (heads % state.keyHeads !== 0) throw fields.invalid('mamba_n_groups', `a divisor of ${String(heads)}`)
  if (recurrentWidth(state) > 1 << 20) throw fields.invalid('mamba_d_state', 'a smaller number')
  return state
}

/** True where steps may be as long as they come out. */
function isUnlimited(fields: Fields): boolean {
  const limit = fields.value('time_step_limit')
  if (!Array.isArray(limit)) return true
  // JSON has no infinity: transformers writes an object in its place.
  const [least, most] = limit as unknown[]
  return least === 0 && (most === null || JSON.stringify(most) === '{"__float__":"Infinity"}')
}

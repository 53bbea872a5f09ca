import type { ModelConfig } from './config.ts'
import type { Fields } from './fields.ts'

type Biases = ModelConfig['biases']

/** `attention_bias`: biases on all four projections of attention. */
export function attentionBiases(fields: Fields): Biases {
  const has = fields.boolean('attention_bias', false)
  return { q_proj: has, k_proj: has, v_proj: has, o_proj: has }
}

/** `mlp_bias` */
export function mlpBiases(fields: Fields): Biases {
  const has = fields.boolean('mlp_bias', false)
  return { gate_proj: has, up_proj: has, down_proj: has }
}

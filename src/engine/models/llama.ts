import { type Architecture, readDecoderConfig } from './common.ts'

/** Llama 1–3 and what is shaped like it (SmolLM, TinyLlama, …). Touvron et al. 2023, arXiv:2302.13971. */
export const llama: Architecture = {
  modelType: 'llama',
  className: 'LlamaForCausalLM',
  read(fields) {
    const attention = fields.boolean('attention_bias', false)
    const mlp = fields.boolean('mlp_bias', false)
    const traits = {
      name: 'llama',
      defaultKvHeads: null,
      defaultHeadDim: null,
      defaultMaxPositions: 2_048,
      defaultBosId: 1,
      defaultEosIds: [2],
      qkNorm: false,
    }
    return readDecoderConfig(fields, traits, {
      q_proj: attention,
      k_proj: attention,
      v_proj: attention,
      o_proj: attention,
      gate_proj: mlp,
      up_proj: mlp,
      down_proj: mlp,
    })
  },
}

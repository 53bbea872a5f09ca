import { type Architecture, noBiases, readDecoderConfig } from './common.ts'

/** Qwen 3, dense: q and k are normalised per head, heads have a width of their own. Yang et al. 2025, arXiv:2505.09388. */
export const qwen3: Architecture = {
  modelType: 'qwen3',
  className: 'Qwen3ForCausalLM',
  read(fields) {
    const attention = fields.boolean('attention_bias', false)
    const traits = {
      name: 'qwen3',
      defaultKvHeads: 32,
      defaultHeadDim: 128,
      defaultMaxPositions: 32_768,
      defaultBosId: null,
      defaultEosIds: [],
      qkNorm: true,
    }
    return readDecoderConfig(fields, traits, {
      ...noBiases,
      q_proj: attention,
      k_proj: attention,
      v_proj: attention,
      o_proj: attention,
    })
  },
}

import { type Architecture, noBiases, readDecoderConfig } from './common.ts'

/** Qwen 2 and 2.5: biases on q, k and v, always. Yang et al. 2024, arXiv:2407.10671. */
export const qwen2: Architecture = {
  modelType: 'qwen2',
  className: 'Qwen2ForCausalLM',
  read: (fields) =>
    readDecoderConfig(
      fields,
      {
        name: 'qwen2',
        defaultKvHeads: 32,
        defaultHeadDim: null,
        defaultMaxPositions: 32_768,
        defaultBosId: null,
        defaultEosIds: [],
        qkNorm: false,
      },
      { ...noBiases, q_proj: true, k_proj: true, v_proj: true },
    ),
}

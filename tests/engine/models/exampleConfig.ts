import type { ModelConfig } from '#engine/models/config.ts'

const noBiases = {
  q_proj: false,
  k_proj: false,
  v_proj: false,
  o_proj: false,
  gate_proj: false,
  up_proj: false,
  down_proj: false,
}

/** Every size is different from every other, so that a mix-up shows in a shape. */
export const exampleConfig: ModelConfig = {
  architecture: 'llama',
  layers: 2,
  hiddenSize: 24,
  heads: 6,
  kvHeads: 2,
  headDim: 10,
  intermediateSize: 44,
  vocabSize: 97,
  maxPositions: 64,
  normEpsilon: 1e-6,
  rope: { inverseFrequencies: [1, 0.5, 0.25, 0.1, 0.05], attentionFactor: 1 },
  tiedHead: false,
  biases: noBiases,
  qkNorm: false,
  bosId: null,
  eosIds: [],
  padId: null,
}

/** As Qwen2 and Qwen3 together: biases on q, k, v and norms on the heads. */
export const fullConfig: ModelConfig = {
  ...exampleConfig,
  qkNorm: true,
  tiedHead: true,
  biases: { ...noBiases, q_proj: true, k_proj: true, v_proj: true },
}

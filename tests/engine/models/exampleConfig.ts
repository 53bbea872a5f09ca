import { plainFactors, qkNormNames } from '#engine/models/common.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { separateLinears } from '#engine/models/config.ts'

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
  contextLength: 64,
  linears: separateLinears,
  biases: {},
  transposedLinears: false,
  activation: 'silu',
  norm: 'rms',
  normEpsilon: 1e-6,
  blockNorms: {
    beforeAttention: 'input_layernorm',
    afterAttention: null,
    beforeMlp: 'post_attention_layernorm',
    afterMlp: null,
  },
  qkNorm: 'none',
  rotatedPairs: 'halves',
  attentionScale: 10 ** -0.5,
  ...plainFactors,
  ropes: [{ theta: 10_000, inverseFrequencies: [1, 0.5, 0.25, 0.1, 0.05], attentionFactor: 1 }],
  windows: [null],
  mixers: [
    { kind: 'attention', window: 0, rope: 0 },
    { kind: 'attention', window: 0, rope: 0 },
  ],
  experts: null,
  tiedHead: false,
  names: {
    embedding: 'model.embed_tokens.weight',
    positions: null,
    layers: 'model.layers.',
    finalNorm: 'model.norm',
    head: 'lm_head.weight',
    ...qkNormNames,
  },
  bosId: null,
  eosIds: [],
  padId: null,
}

/** As Qwen2 and Qwen3 together: biases on q, k, v and norms on the heads. */
export const fullConfig: ModelConfig = {
  ...exampleConfig,
  qkNorm: 'head',
  tiedHead: true,
  biases: { q_proj: true, k_proj: true, v_proj: true },
}

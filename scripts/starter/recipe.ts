/** What the starter model is and how it is pretrained: every number of it. */

export const seeds = { demo: 7, tokenizer: 11, corpus: 12, weights: 1 }

/** Rows of the demo data set. */
export const rowCounts = { train: 1200, heldout: 150 }

export const pretraining = {
  steps: 6_000,
  conversationsPerStep: 64,
  peakLearningRate: 2e-3,
  warmupSteps: 100,
  optimizer: { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 },
  maxGradNorm: 1,
  initializerRange: 0.02,
}

/** Warm-up, a plateau up to half way, then evenly down to a fiftieth of the peak. */
export function learningRate(step: number): number {
  const { steps, peakLearningRate, warmupSteps } = pretraining
  const warm = Math.min(1, (step + 1) / warmupSteps)
  const cool = Math.max(0.02, Math.min(1, (2 * (steps - step)) / steps))
  return peakLearningRate * warm * cool
}

/** config.json of the starter model: a Llama of 1.7 million parameters. */
export const starterConfig = (vocabSize: number, ids: { readonly eos: number; readonly pad: number }) => ({
  architectures: ['LlamaForCausalLM'],
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: null,
  eos_token_id: ids.eos,
  head_dim: 32,
  hidden_act: 'silu',
  hidden_size: 192,
  initializer_range: pretraining.initializerRange,
  intermediate_size: 512,
  max_position_embeddings: 128,
  mlp_bias: false,
  model_type: 'llama',
  num_attention_heads: 6,
  num_hidden_layers: 4,
  num_key_value_heads: 2,
  pad_token_id: ids.pad,
  pretraining_tp: 1,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 10_000,
  tie_word_embeddings: true,
  torch_dtype: 'float32',
  use_cache: true,
  vocab_size: vocabSize,
})

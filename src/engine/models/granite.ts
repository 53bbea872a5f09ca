import { attentionBiases, mlpBiases, type Architecture, readDecoderConfig, refuseWindows } from './common.ts'
import type { Fields } from './fields.ts'

const factorLimits = { min: 1e-6, max: 1e6, fallback: 1 }

/** Factors of the tiny models. */
export const tinyFactors = {
  embedding_multiplier: 4,
  attention_multiplier: 0.5,
  residual_multiplier: 0.7,
  logits_scaling: 2,
}

/** Defaults of the classes. */
export const graniteTraits = {
  defaultKvHeads: null,
  defaultHeadDim: null,
  defaultMaxPositions: 2_048,
  defaultBosId: 1,
  defaultEosIds: [2],
}

/** Granite 3: Llama with factors on embeddings, scores, branches and logits (as in Yang et al. 2022, arXiv:2203.03466). */
export const granite = {
  modelType: 'granite',
  className: 'GraniteForCausalLM',
  gguf: { name: 'granite', isPermuted: true },
  tiny: {
    tiedHead: true,
    config: () => tinyFactors,
  },
  read(fields, contextLength) {
    refuseWindows(fields)
    const biases = { ...attentionBiases(fields), ...mlpBiases(fields) }
    const traits = { ...graniteTraits, name: 'granite', biases }
    return { ...readDecoderConfig(fields, traits, contextLength), ...graniteFactors(fields) }
  },
} as const satisfies Architecture

export const graniteFactors = (fields: Fields) => ({
  embeddingScale: fields.number('embedding_multiplier', factorLimits),
  attentionScale: fields.number('attention_multiplier', factorLimits),
  residualScale: fields.number('residual_multiplier', factorLimits),
  logitScale: 1 / fields.number('logits_scaling', factorLimits),
})

import type { LoraConfig, ModelConfig } from './config.ts'
import { linearNames, linearShape } from './config.ts'
import { CAUSAL_PARTS } from '../ops/attention.ts'

/** Blocks on and below the diagonal, as a share of all. */
const CAUSAL_SHARE = (CAUSAL_PARTS + 1) / (2 * CAUSAL_PARTS)

export interface LearningWork {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  /** Tokens of each sequence. */
  readonly lengths: readonly number[]
  /** The backward pass computes the layers again. */
  readonly recompute: boolean
}

/**
 * Floating-point operations of the matrix products of one micro-batch forward and backward, every token scored. Attention
 * counts the blocks that are computed of each sequence's own square; padding is no work, so it shows as lost speed.
 */
export function learningFlops({ config, lora, lengths, recompute }: LearningWork): number {
  const tokens = lengths.reduce((total, length) => total + length, 0)
  const squares = lengths.reduce((total, length) => total + length * length, 0)
  const passes = recompute ? 2 : 1 // forward, and forward again
  let perLayer = 0
  for (const name of linearNames) {
    const [out, width] = linearShape(config, name)
    perLayer += (passes + 1) * 2 * out * width * tokens // y = Wx, dx = Wᵀdy
    if (lora.targets.includes(name)) perLayer += (passes + 2) * 2 * lora.rank * (out + width) * tokens
  }
  const attention = (passes + 2) * 4 * config.heads * config.headDim * squares * CAUSAL_SHARE
  // Nobody learns the first layer's input.
  const [query, key] = [linearShape(config, 'q_proj'), linearShape(config, 'k_proj')]
  const unneeded = 2 * (query[0] + 2 * key[0]) * config.hiddenSize * tokens
  const head = 4 * config.vocabSize * config.hiddenSize * tokens
  return config.layers * (perLayer + attention) - unneeded + head
}

import type { AttentionWindow, LoraConfig, ModelConfig } from './config.ts'
import { headShape, linearShape, linearsByInput, linearsOf } from './config.ts'
import { CAUSAL_PARTS } from '../ops/attention.ts'
import { blockStarts, defaultBlocks, type BlockLimits } from '../ops/blockwiseAttention.ts'

/** Blocks on and below the diagonal, as a fraction of all. */
const CAUSAL_SHARE = (CAUSAL_PARTS + 1) / (2 * CAUSAL_PARTS)

export interface LearningWork {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  /** Tokens of each sequence. */
  readonly lengths: readonly number[]
  /** True if the backward pass recomputes the layers. */
  readonly recompute: boolean
  /** Limits that decide which sequences attend in blocks; the measured best if absent. */
  readonly blocks?: BlockLimits
}

/**
 * Floating-point operations of the matrix products of one micro-batch forward and backward, every token scored. Attention
 * counts the blocks that are computed of each sequence's own square; padding is no work, so it shows as lost speed.
 */
export function learningFlops(work: LearningWork): number {
  const { config, lora, lengths, recompute } = work
  const tokens = lengths.reduce((total, length) => total + length, 0)
  let linears = 0
  for (const { name, out, width } of everyLinear(config)) {
    // The last product of a layer is never computed again: only the next layer reads it.
    const again = recompute && name !== config.linears.at(-1) ? 1 : 0
    linears += (2 + again) * 2 * out * width * tokens // y = Wx, dx = Wᵀdy
    // A x is never kept, so it is computed again for the gradient of B.
    const adapter = 3 * (out + width) + width + again * out
    if (lora.targets.includes(name)) linears += 2 * lora.rank * adapter * tokens
  }
  // Results of experts are computed again too: the gradient of their weights reads them.
  linears += (recompute ? 3 : 2) * 2 * expertElements(config).used * tokens
  const attention = lengths.reduce((total, length) => total + attentionFlops(length, work), 0)
  const head = 4 * config.vocabSize * config.hiddenSize * tokens
  return linears + attention - firstLayerFlops(config, lora) * tokens + head
}

/** Elements of the matrices of all experts: those that a token goes through, routers included, and those that it does not. */
export function expertElements({ experts, hiddenSize }: ModelConfig): {
  readonly used: number
  readonly idle: number
} {
  if (experts === null) return { used: 0, idle: 0 }
  const { count, chosen, width } = experts
  const layers = experts.layers.filter(Boolean).length
  const each = 3 * width * hiddenSize
  return { used: layers * (chosen * each + count * hiddenSize), idle: layers * (count - chosen) * each }
}

/** The linears of all layers, one after the other. */
const everyLinear = (config: ModelConfig) =>
  Array.from({ length: config.layers }, (_, layer) =>
    linearsOf(config, layer).map((name) => {
      const [out, width] = linearShape(config, name, layer)
      return { name, out, width }
    }),
  ).flat()

/** Windows of the layers that attend, and the channels of all their heads. */
const attentionsOf = (config: ModelConfig) =>
  config.mixers.flatMap((mixer) => {
    if (mixer.kind !== 'attention') return []
    const { heads, headDim } = headShape(config, mixer)
    return [{ window: config.windows[mixer.window] ?? null, width: heads * headDim }]
  })

/** Floating-point operations of attention for one sequence in all layers that attend. */
function attentionFlops(length: number, { config, recompute, blocks = defaultBlocks }: LearningWork): number {
  const attentions = attentionsOf(config)
  const perPair = attentions.reduce((sum, { width }) => sum + 2 * width, 0)
  if (length <= blocks.longerThan) {
    // Scores and mixing forward, both again in the backward pass (they are never kept), and their four gradients.
    return 8 * perPair * length * length * CAUSAL_SHARE
  }
  // The scores once more for the gradients; what was mixed is an activation, which may be kept.
  const products = recompute ? 9 : 7
  return attentions.reduce(
    (total, { window, width }) => total + products * 2 * width * blockPairs(length, blocks, window),
    0,
  )
}

/** Queries times the keys of their blocks. */
const blockPairs = (length: number, { rows }: BlockLimits, window: AttentionWindow): number =>
  blockStarts(0, length, rows).reduce((total, at) => {
    const end = Math.min(at + rows, length)
    return total + (end - at) * (end - (window === null ? 0 : Math.max(0, at + 1 - window)))
  }, 0)

/**
 * The same as it is usually counted, which compares programs that compute differently: all layers forward again where they
 * are computed again, attention as full squares, a gradient for the input of every layer ("hardware FLOPs" of Korthikanti
 * et al. 2022, arXiv:2205.05198, with LoRA).
 */
export function conventionalFlops({ config, lora, lengths, recompute }: LearningWork): number {
  const tokens = lengths.reduce((total, length) => total + length, 0)
  const squares = lengths.reduce((total, length) => total + length * length, 0)
  const forward = recompute ? 2 : 1
  let perToken = 0
  for (const { name, out, width } of everyLinear(config)) {
    perToken += (forward + 1) * 2 * out * width
    if (lora.targets.includes(name)) perToken += (forward + 2) * 2 * lora.rank * (out + width)
  }
  perToken += (forward + 1) * 2 * expertElements(config).used
  const widths = attentionsOf(config).reduce((sum, { width }) => sum + width, 0)
  const attention = (2 * forward + 4) * 2 * widths * squares
  const head = 4 * config.vocabSize * config.hiddenSize * tokens
  return perToken * tokens + attention + head
}

/**
 * Floating-point operations per token that the first layer saves because its input needs no gradient: the backward pass
 * through q, k and v, or into a convolution.
 */
function firstLayerFlops(config: ModelConfig, { targets, rank }: LoraConfig): number {
  const first = linearsOf(config, 0).filter((name) => linearsByInput[0]?.includes(name))
  return first.reduce((total, name) => {
    const [out, width] = linearShape(config, name, 0)
    return total + 2 * width * (out + (targets.includes(name) ? rank : 0))
  }, 0)
}

/** Counts the work per token of a model, by which speeds are scaled from one model to another. */
import { linearWeights } from '#engine/models/blocks.ts'
import { linearNames, type ModelConfig } from '#engine/models/config.ts'
import { expertElements, learningFlops } from '#engine/models/work.ts'

/**
 * Elements of the matrices that a generated token goes through. Both bounds of its time, the bytes that are read and the
 * products that are computed, grow with them.
 */
export function generationWork(config: ModelConfig): number {
  const inLinears = linearWeights(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b), 0)
  return inLinears - expertElements(config).idle + config.vocabSize * config.hiddenSize
}

/** Length, in tokens, of the sequences that speed is measured with. */
export const measuredTokens = 48
export const measuredLora = { rank: 8, alpha: 16, rsLora: false, targets: linearNames } as const

/** Floating-point operations of learning from a token, layers recomputed. */
export const learningWork = (config: ModelConfig): number =>
  learningFlops({ config, lora: measuredLora, lengths: [measuredTokens], recompute: true }) / measuredTokens

/** Scales work per second, as a device was measured to do, to tokens of this model per second. */
export const tokenRates = (
  config: ModelConfig,
  { generating, learning }: { readonly generating: number; readonly learning: number },
) => ({
  generating: generating / generationWork(config),
  learning: learning / learningWork(config),
})

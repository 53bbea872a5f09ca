import type { RoundedPrecision } from './precision.ts'

/** What rounding the base does to a model, on texts and on completions that it drew itself. Nats per token. */
export interface PrecisionEffect {
  readonly precision: RoundedPrecision
  /** Predicted tokens of the texts. */
  readonly tokens: number
  /** Mean of exact − rounded log-probability: by how much the texts became less likely. */
  readonly loss: number
  /** Mean and largest |exact − rounded|. */
  readonly mean: number
  readonly largest: number
  /** KL(rounded ‖ exact), estimated on completions of the rounded model. */
  readonly divergence: number
  /** Mean |sampler − learner| on the same completions: generating also rounds what it multiplies. */
  readonly samplerGap: number
  /** Bytes of the matrices that are rounded, in f32 and rounded. */
  readonly exactBytes: number
  readonly roundedBytes: number
}

/** One sentence for a log. */
export function effectWords({ precision, mean, largest, divergence, samplerGap }: PrecisionEffect): string {
  const nats = (value: number): string => `${Number(value.toPrecision(2))}`
  return (
    `The base is rounded to ${precision}: log-probabilities differ from the exact model’s by ${nats(mean)} nats per token ` +
    `on average and ${nats(largest)} at most, KL divergence ${nats(divergence)}; ` +
    `generating and learning differ by ${nats(samplerGap)}.`
  )
}

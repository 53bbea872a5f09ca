/** Precisions of weights. */
export const blockPrecisions = ['int8', 'int4'] as const
/** Rounded, with a scale for every block of a row. */
export type BlockPrecision = (typeof blockPrecisions)[number]

/** Precisions with 16 bits per weight, for devices that multiply in them. */
export const halfPrecisions = ['bf16', 'f16'] as const
export type HalfPrecision = (typeof halfPrecisions)[number]

/** Precisions an exact base can be rounded to. */
export const roundedPrecisions = [...blockPrecisions, ...halfPrecisions] as const
export type RoundedPrecision = (typeof roundedPrecisions)[number]

/** Storage precisions of the linears of the frozen base. */
export const heldPrecisions = ['f32', ...roundedPrecisions] as const
export type HeldPrecision = (typeof heldPrecisions)[number]

/** Choices of a run: the storage precision of its base, or `tf32`, which is stored in f32 and multiplied less exactly. */
export const basePrecisions = ['f32', 'tf32', ...roundedPrecisions] as const
export type BasePrecision = (typeof basePrecisions)[number]

/** Null: the base stays exact. */
export const roundedTo = (precision: BasePrecision): RoundedPrecision | null =>
  precision === 'f32' || precision === 'tf32' ? null : precision

export const heldIn = (precision: BasePrecision): HeldPrecision => roundedTo(precision) ?? 'f32'

export const isHalfPrecision = (precision: BasePrecision): precision is HalfPrecision =>
  precision === 'bf16' || precision === 'f16'

/** Precisions in which rollouts read an f32 base. */
export const rolloutPrecisions = ['f32', 'int8'] as const
export type RolloutPrecision = (typeof rolloutPrecisions)[number]

/**
 * Arithmetic of learning with an 8-bit base: in integers if the processor is fast at it, or always in f32. Their
 * products differ by about 3·10⁻⁵, by more only for tokens with a value many times as large as its other ones.
 */
export const frozenProducts = ['auto', 'f32'] as const
export type FrozenProducts = (typeof frozenProducts)[number]

/** Effect of rounding the base of a model, on texts and on completions that it sampled itself. Nats per token. */
export interface PrecisionEffect {
  readonly precision: RoundedPrecision
  /** Number of predicted tokens in the texts. */
  readonly tokens: number
  /** Mean of exact − rounded log-probability: how much less likely the texts became. */
  readonly loss: number
  /** Mean and largest |exact − rounded|. */
  readonly mean: number
  readonly largest: number
  /** KL(rounded ‖ exact), estimated on completions of the rounded model. */
  readonly divergence: number
  /** Mean |sampler − learner| on the same completions: generation also rounds the activations it multiplies. */
  readonly samplerGap: number
  /** Bytes of the rounded matrices, in f32 and rounded. */
  readonly exactBytes: number
  readonly roundedBytes: number
}

/** Describes the effect in one sentence for a log. */
export function effectWords({ precision, mean, largest, divergence, samplerGap }: PrecisionEffect): string {
  const nats = (value: number): string => `${Number(value.toPrecision(2))}`
  return (
    `The base is quantised to ${precision}: log-probabilities differ from the exact model’s by ${nats(mean)} nats per token ` +
    `on average and ${nats(largest)} at most, KL divergence ${nats(divergence)}; ` +
    `generation and learning differ by ${nats(samplerGap)}.`
  )
}

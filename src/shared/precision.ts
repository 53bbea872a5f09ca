/** What weights are held in. */
export const blockPrecisions = ['int8', 'int4'] as const
/** Rounded, with a scale for every block of a row. */
export type BlockPrecision = (typeof blockPrecisions)[number]

/** 16 bits for each weight, for devices that multiply in them. */
export const halfPrecisions = ['bf16', 'f16'] as const
export type HalfPrecision = (typeof halfPrecisions)[number]

/** What an exact base can be rounded to. */
export const roundedPrecisions = [...blockPrecisions, ...halfPrecisions] as const
export type RoundedPrecision = (typeof roundedPrecisions)[number]

/** What the linears of the frozen base are held in. */
export const heldPrecisions = ['f32', ...roundedPrecisions] as const
export type HeldPrecision = (typeof heldPrecisions)[number]

/** What a run can choose: what its base is held in, or `tf32`, which is held in f32 and multiplied less exactly. */
export const basePrecisions = ['f32', 'tf32', ...roundedPrecisions] as const
export type BasePrecision = (typeof basePrecisions)[number]

/** null: the base stays exact. */
export const roundedTo = (precision: BasePrecision): RoundedPrecision | null =>
  precision === 'f32' || precision === 'tf32' ? null : precision

export const heldIn = (precision: BasePrecision): HeldPrecision => roundedTo(precision) ?? 'f32'

export const isHalfPrecision = (precision: BasePrecision): precision is HalfPrecision =>
  precision === 'bf16' || precision === 'f16'

/** What rollouts read of a base in f32. */
export const rolloutPrecisions = ['f32', 'int8'] as const
export type RolloutPrecision = (typeof rolloutPrecisions)[number]

/**
 * How learning multiplies with a base in 8 bits: in whole numbers where the processor is fast at it, or always in f32. Their
 * products differ by about 3·10⁻⁵, by more only for tokens with a value many times as large as its other ones.
 */
export const frozenProducts = ['auto', 'f32'] as const
export type FrozenProducts = (typeof frozenProducts)[number]

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
    `The base is quantised to ${precision}: log-probabilities differ from the exact model’s by ${nats(mean)} nats per token ` +
    `on average and ${nats(largest)} at most, KL divergence ${nats(divergence)}; ` +
    `generation and learning differ by ${nats(samplerGap)}.`
  )
}

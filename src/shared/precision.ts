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
export const basePrecisions = ['f32', ...roundedPrecisions] as const
export type BasePrecision = (typeof basePrecisions)[number]

export const isHalfPrecision = (precision: BasePrecision): precision is HalfPrecision =>
  precision === 'bf16' || precision === 'f16'

/** What rollouts read of a base in f32. */
export const rolloutPrecisions = ['f32', 'int8'] as const
export type RolloutPrecision = (typeof rolloutPrecisions)[number]

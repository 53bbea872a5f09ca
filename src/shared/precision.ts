/** What weights are held in. */
export const blockPrecisions = ['int8', 'int4'] as const
/** Rounded, with a scale for every block of a row. */
export type BlockPrecision = (typeof blockPrecisions)[number]

/** What the linears of the frozen base are held in. */
export const basePrecisions = ['f32', ...blockPrecisions] as const
export type BasePrecision = (typeof basePrecisions)[number]

/** What rollouts read of a base in f32. */
export const rolloutPrecisions = ['f32', 'int8'] as const
export type RolloutPrecision = (typeof rolloutPrecisions)[number]

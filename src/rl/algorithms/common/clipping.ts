/** Allowed range of an importance ratio. */
export interface ClipBounds {
  readonly lower: number
  readonly upper: number
}

/** One number c means [1−c, 1+c]; a pair is taken as the bounds themselves. */
export function clipBounds(coefficient: number | readonly [number, number]): ClipBounds {
  if (typeof coefficient === 'number') return { lower: 1 - coefficient, upper: 1 + coefficient }
  return { lower: coefficient[0], upper: coefficient[1] }
}

export function clip(ratio: number, { lower, upper }: ClipBounds): number {
  return Math.min(Math.max(ratio, lower), upper)
}

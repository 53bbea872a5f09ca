/** Allowed range of an importance ratio. */
export interface ClipBounds {
  readonly lower: number
  readonly upper: number
  /** Where the ratio itself stops counting, whatever the advantage (two-sided or dual clip); absent = nowhere. */
  readonly limit?: number | null
}

/** One number c means [1−c, 1+c]; a pair is taken as the bounds themselves. */
export function clipBounds(
  coefficient: number | readonly [number, number],
  limit: number | null = null,
): ClipBounds {
  if (typeof coefficient === 'number') return { lower: 1 - coefficient, upper: 1 + coefficient, limit }
  return { lower: coefficient[0], upper: coefficient[1], limit }
}

/** One number c means at most 1+c and no lower bound. */
export const upperBounds = (coefficient: number | readonly [number, number]): ClipBounds =>
  typeof coefficient === 'number' ? { lower: 0, upper: 1 + coefficient } : clipBounds(coefficient)

export function clip(ratio: number, { lower, upper }: ClipBounds): number {
  return Math.min(Math.max(ratio, lower), upper)
}

export interface ClippedSurrogate {
  readonly value: number
  /** ∂value/∂ρ */
  readonly ratioSlope: number
  /** ∂value/∂A */
  readonly advantageSlope: number
  readonly isOutside: boolean
}

/**
 * −min(ρA, clip(ρ)A). With a limit δ above the upper bound, ρ in the first term is min(ρ, δ): a token with A < 0 costs at
 * most δ|A| (dual clip, Ye et al. 2020, arXiv:1912.09729, eq. 5; TRL's `delta`).
 */
export function clippedSurrogate(ratio: number, advantage: number, bounds: ClipBounds): ClippedSurrogate {
  const limited = Math.min(ratio, bounds.limit ?? Infinity)
  const clipped = clip(ratio, bounds)
  const isSilenced = clipped * advantage < limited * advantage
  const used = isSilenced ? clipped : limited
  return {
    value: -used * advantage,
    ratioSlope: isSilenced || limited < ratio ? 0 : -advantage,
    advantageSlope: -used,
    isOutside: clipped !== ratio,
  }
}

/** Sentences on bounds that would clip everything, or on a limit that would move them. */
export function clipConflicts(
  clipCoefficient: number | readonly [number, number],
  ratioLimit: number | null,
): string[] {
  const { lower, upper } = clipBounds(clipCoefficient)
  const pair = JSON.stringify(clipCoefficient)
  const problems = []
  if (lower > 1 || upper < 1) {
    problems.push(
      `clipCoefficient: a pair means the bounds of the ratio, which begins at 1; ${pair} shuts it out. Write [0.8, 1.28] for 0.2 below and 0.28 above.`,
    )
  }
  if (ratioLimit !== null && ratioLimit <= upper) {
    problems.push(`ratioLimit: must be above the upper clip bound ${upper}, got ${ratioLimit}.`)
  }
  return problems
}

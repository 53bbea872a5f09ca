/**
 * Buckets of buckets over a metric: level 1 covers 4 steps at a time, level 2 16, and so on, so that a chart reads a
 * few hundred rows whatever the length of the run, and no spike is lost.
 */

/** Steps that one bucket of a level covers; level 0 is the raw rows. */
export const widthOf = (level: number): number => 4 ** level

/** 4^10 ≈ a million steps. */
export const topLevel = 10

/** Minimum, maximum and the rest over a stretch of steps. */
export interface Bucket {
  /** First and last step with a number; null without one. */
  firstStep: number | null
  lastStep: number | null
  minimum: number | null
  maximum: number | null
  total: number
  /** The number at the last step. */
  last: number | null
  /** Number of values. */
  count: number
  /** First step whose value was no number. */
  gapStep: number | null
}

/** Combines parts in the order of their steps. */
export function fold(parts: readonly Bucket[]): Bucket {
  const sum: Bucket = emptyBucket()
  for (const part of parts) {
    sum.gapStep ??= part.gapStep
    if (part.count === 0) continue
    sum.firstStep ??= part.firstStep
    sum.lastStep = part.lastStep
    sum.minimum = lesser(sum.minimum, part.minimum)
    sum.maximum = greater(sum.maximum, part.maximum)
    sum.total += part.total
    sum.last = part.last
    sum.count += part.count
  }
  return sum
}

/** One raw row; null is a value that was no number. */
export function single(step: number, value: number | null): Bucket {
  if (value === null) return { ...emptyBucket(), gapStep: step }
  return {
    firstStep: step,
    lastStep: step,
    minimum: value,
    maximum: value,
    total: value,
    last: value,
    count: 1,
    gapStep: null,
  }
}

/** The finest level that needs no more than 4 times as many buckets as there are points to draw. */
export function levelFor(steps: number, maxPoints: number): number {
  const width = Math.max(1, steps / maxPoints)
  return Math.min(topLevel, Math.floor(Math.log2(width) / 2))
}

const emptyBucket = (): Bucket => ({
  firstStep: null,
  lastStep: null,
  minimum: null,
  maximum: null,
  total: 0,
  last: null,
  count: 0,
  gapStep: null,
})

const lesser = (a: number | null, b: number | null) => (a === null || (b !== null && b < a) ? b : a)
const greater = (a: number | null, b: number | null) => (a === null || (b !== null && b > a) ? b : a)

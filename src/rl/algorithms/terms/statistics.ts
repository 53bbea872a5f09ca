/** Means and spreads in f64. */

/** Added to a standard deviation before dividing by it. */
export const SPREAD_EPSILON = 1e-8

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Variance with n−1 in the denominator; 0 for fewer than two values. */
export function sampleVariance(values: readonly number[]): number {
  if (values.length < 2) return 0
  const center = mean(values)
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1)
}

/**
 * True when the values differ by rounding only. Dividing the rounding of a mean by a tiny spread would invent
 * advantages where there is nothing to learn, so such values count as equal.
 */
export function hasNoSpread(values: readonly number[]): boolean {
  return Math.sqrt(sampleVariance(values)) <= 1e-12 * Math.max(1, Math.abs(mean(values)))
}

/** (x − mean) / (standard deviation + 1e-8); all 0 when there is no spread. */
export function standardized(values: readonly number[]): number[] {
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  const spread = Math.sqrt(sampleVariance(values)) + SPREAD_EPSILON
  return values.map((value) => (value - center) / spread)
}

/** x − mean; all 0 when there is no spread. */
export function centered(values: readonly number[]): number[] {
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  return values.map((value) => value - center)
}

/** (x − mean) / √(variance + 1e-8), unbiased variance. Fewer than two values are returned unchanged. */
export function whitened(values: readonly number[]): number[] {
  if (values.length < 2) return [...values]
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  const scale = 1 / Math.sqrt(sampleVariance(values) + SPREAD_EPSILON)
  return values.map((value) => (value - center) * scale)
}

/** Quantile with linear interpolation between the two nearest ranks; `values` need not be sorted. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = share * (sorted.length - 1)
  const low = Math.floor(rank)
  const below = sorted[low]!
  return below + (rank - low) * ((sorted[low + 1] ?? below) - below)
}

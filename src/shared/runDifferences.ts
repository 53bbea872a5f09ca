/** Tests whether a difference between runs exceeds chance. */
import {
  mean,
  meanDifference,
  squares,
  studentQuantile,
  variance,
  welchDifference,
  type Interval,
  type KnownMean,
} from './statistics.ts'

export interface Difference {
  /** Mean of `a` minus mean of `b`. */
  readonly difference: number
  /** 95 % interval of the difference; null if the values move too slowly to bound it. */
  readonly interval: Interval | null
  /** True if there is an interval and it excludes 0. */
  readonly isReal: boolean
  /** Basis of the test: seeds, or values of two single runs. */
  readonly method: 'seeds' | 'runs'
  readonly counts: readonly [number, number]
}

/** Compares groups of at least two seeds each: Welch's t interval, which does not assume equal variances. */
export function seedDifference(a: readonly number[], b: readonly number[]): Difference | null {
  const found = welchDifference(a, b)
  if (found === null || found.interval === null) return null
  return told(found.difference, found.interval, 'seeds', [a.length, b.length])
}

/**
 * Compares one run with several seeds of another setting through the prediction interval for their next seed, mean ±
 * t·s·√(1+1/n). Needs three seeds to estimate their spread.
 */
export function singleDifference(value: number, seeds: readonly number[]): Difference | null {
  if (seeds.length < 3) return null
  const middle = mean(seeds)
  const reach = studentQuantile(seeds.length - 1) * Math.sqrt(variance(seeds) * (1 + 1 / seeds.length))
  const difference = value - middle
  return told(difference, { low: difference - reach, high: difference + reach }, 'seeds', [1, seeds.length])
}

/** Smallest number of final values that shows the autocorrelation of a run, and with it their effective number. */
export const leastValues = 20

/**
 * Compares single runs by values such as the rewards of the last steps: Welch’s t interval of the difference of means.
 * Neighbouring values are correlated, so each mean has a smaller effective sample size (`serialMean`). Covers the noise
 * of these two runs only, not the variation between seeds. Null if a run has fewer than 20 values.
 */
export function runDifference(a: readonly number[], b: readonly number[]): Difference | null {
  if (a.length < leastValues || b.length < leastValues) return null
  const counts = [a.length, b.length] as const
  const [blocksA, blocksB] = [blockMeans(a), blockMeans(b)]
  // A series that seems fast by chance also seems steady, and would weigh too much beside a slow one.
  const correlation = Math.max(correlationOf(blocksA), correlationOf(blocksB))
  const [meanA, meanB] = [serialMean(blocksA, correlation), serialMean(blocksB, correlation)]
  if (meanA.freedom < 1 || meanB.freedom < 1) return told(meanA.value - meanB.value, null, 'runs', counts)
  const { difference, interval } = meanDifference(meanA, meanB)
  return told(difference, interval, 'runs', counts)
}

/**
 * Returns means of 20 or slightly more blocks of neighbours, so that a slow drift below fast noise shows as well. Uses
 * the newest values that fill whole blocks.
 */
function blockMeans(values: readonly number[]): readonly number[] {
  const length = Math.floor(values.length / leastValues)
  const first = values.length % length
  return Array.from({ length: Math.floor(values.length / length) }, (_, i) =>
    mean(values.slice(first + i * length, first + (i + 1) * length)),
  )
}

/**
 * Estimates the lag-one autocorrelation with bias correction: Marriott and Pope 1954, "Bias in the estimation of
 * autocorrelations".
 */
function correlationOf(values: readonly number[]): number {
  const [count, middle, spread] = [values.length, mean(values), squares(values)]
  if (spread === 0) return 0
  const products = values
    .slice(1)
    .reduce((sum, value, i) => sum + (value - middle) * ((values[i] ?? middle) - middle), 0)
  return Math.max(0, ((count * products) / spread + 1) / (count - 4))
}

/**
 * Mean of a first-order autoregression: n values have the effective size n / (1 + 2 Σ (1 − k/n) ρᵏ), and one degree of
 * freedom less.
 */
function serialMean(values: readonly number[], correlation: number): KnownMean {
  const count = values.length
  const sizes = values.slice(1).map((_, i) => (1 - (i + 1) / count) * correlation ** (i + 1))
  const weight = 1 + 2 * sizes.reduce((sum, size) => sum + size, 0)
  const freedom = count / weight - 1
  return { value: mean(values), error: squares(values) / count / freedom, freedom }
}

const told = (
  difference: number,
  interval: Interval | null,
  method: Difference['method'],
  counts: readonly [number, number],
): Difference => ({
  difference,
  interval,
  isReal: interval !== null && (interval.low > 0 || interval.high < 0),
  method,
  counts,
})

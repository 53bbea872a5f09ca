/** Whether a difference between runs is more than luck. */
import {
  mean,
  meanDifference,
  studentQuantile,
  variance,
  welchDifference,
  type Interval,
  type KnownMean,
} from '#shared/statistics.ts'
import { sum } from 'd3-array'

export interface Difference {
  /** Mean of `a` minus mean of `b`. */
  readonly difference: number
  /** 95 % interval of the difference; null where the values move too slowly to bound it. */
  readonly interval: Interval | null
  /** There is an interval, and it leaves 0 out. */
  readonly isReal: boolean
  /** What was counted: seeds, or values of two single runs. */
  readonly method: 'seeds' | 'runs'
  readonly counts: readonly [number, number]
}

/** By seeds, where both sides have at least two: Welch's t interval, which asks no equal spread. */
export function seedDifference(a: readonly number[], b: readonly number[]): Difference | null {
  const found = welchDifference(a, b)
  if (found === null || found.interval === null) return null
  return told(found.difference, found.interval, 'seeds', [a.length, b.length])
}

/**
 * One run against several seeds of another setting: where the next seed of those would lie (prediction interval
 * mean ± t·s·√(1+1/n)). Needs three seeds to know their spread.
 */
export function singleDifference(value: number, seeds: readonly number[]): Difference | null {
  if (seeds.length < 3) return null
  const middle = mean(seeds)
  const reach = studentQuantile(seeds.length - 1) * Math.sqrt(variance(seeds) * (1 + 1 / seeds.length))
  const difference = value - middle
  return told(difference, { low: difference - reach, high: difference + reach }, 'seeds', [1, seeds.length])
}

/** Fewer values at the end of a run do not show how alike neighbours are, and with it how many values they are worth. */
export const leastValues = 20

/**
 * By values of single runs, such as the rewards of the last steps: Welch’s t interval of the difference of means, each
 * worth as many values as `serialMean` says. It tells the noise of these two runs only; what another seed would have
 * done it cannot know. null where a run has fewer than 20 values.
 */
export function runDifference(a: readonly number[], b: readonly number[]): Difference | null {
  if (a.length < leastValues || b.length < leastValues) return null
  const counts = [a.length, b.length] as const
  const [meanA, meanB] = [serialMean(a), serialMean(b)]
  if (meanA === null || meanB === null) return told(mean(a) - mean(b), null, 'runs', counts)
  const { difference, interval } = meanDifference(meanA, meanB)
  return told(difference, interval, 'runs', counts)
}

/**
 * Mean of neighbouring values that resemble each other, as those of a first-order autoregression do. Values are first
 * averaged in blocks, 20 or somewhat more of them, so that a slow movement below quick noise shows as well. With the
 * correlation ρ of neighbouring blocks, freed of its bias (Marriott and Pope 1954), n of them are worth n / D(ρ), where
 * D = 1 + 2 Σ (1 − k/n) ρᵏ; worth − 1 are the degrees of freedom. null where all are worth less than two.
 */
function serialMean(values: readonly number[]): KnownMean | null {
  const blocks = blockMeans(values, Math.floor(values.length / leastValues))
  const count = blocks.length
  const value = mean(blocks)
  const spread = sum(blocks, (each) => (each - value) ** 2)
  if (spread === 0) return { value, error: 0, freedom: count - 1 }
  const products = sum(blocks, (each, i) => (each - value) * ((blocks[i - 1] ?? value) - value))
  const correlation = Math.max(0, ((count * products) / spread + 1) / (count - 4))
  const weight = 1 + 2 * sum(blocks, (_, k) => (k === 0 ? 0 : (1 - k / count) * correlation ** k))
  const freedom = count / weight - 1
  return freedom < 1 ? null : { value, error: spread / count / freedom, freedom }
}

/** Of the newest values, as many as make whole blocks. */
function blockMeans(values: readonly number[], length: number): readonly number[] {
  const first = values.length % length
  return Array.from({ length: Math.floor(values.length / length) }, (_, i) =>
    mean(values.slice(first + i * length, first + (i + 1) * length)),
  )
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

/** Whether a difference between runs is more than luck. */
import {
  mean,
  meanDifference,
  squares,
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
 * Compares single runs by values such as the rewards of the last steps: Welch’s t interval of the difference of means.
 * Neighbouring values resemble each other, so each mean counts as of fewer of them (`serialMean`). It tells the noise of
 * these two runs only; what another seed would have done it cannot know. null where a run has fewer than 20 values.
 */
export function runDifference(a: readonly number[], b: readonly number[]): Difference | null {
  if (a.length < leastValues || b.length < leastValues) return null
  const counts = [a.length, b.length] as const
  const [blocksA, blocksB] = [blockMeans(a), blockMeans(b)]
  // A series that seems quick by chance also seems steady, and would weigh too much beside one that is slow.
  const correlation = Math.max(correlationOf(blocksA), correlationOf(blocksB))
  const [meanA, meanB] = [serialMean(blocksA, correlation), serialMean(blocksB, correlation)]
  if (meanA.freedom < 1 || meanB.freedom < 1) return told(meanA.value - meanB.value, null, 'runs', counts)
  const { difference, interval } = meanDifference(meanA, meanB)
  return told(difference, interval, 'runs', counts)
}

/**
 * Means of blocks of neighbours, 20 blocks or somewhat more, so that a slow movement below quick noise shows as well. Of
 * the newest values, as many as make whole blocks.
 */
function blockMeans(values: readonly number[]): readonly number[] {
  const length = Math.floor(values.length / leastValues)
  const first = values.length % length
  return Array.from({ length: Math.floor(values.length / length) }, (_, i) =>
    mean(values.slice(first + i * length, first + (i + 1) * length)),
  )
}

/** Estimates the correlation of neighbours, freed of its bias: Marriott and Pope 1954, "Bias in the estimation of autocorrelations". */
function correlationOf(values: readonly number[]): number {
  const [count, middle, spread] = [values.length, mean(values), squares(values)]
  if (spread === 0) return 0
  const products = sum(values.slice(1), (value, i) => (value - middle) * ((values[i] ?? middle) - middle))
  return Math.max(0, ((count * products) / spread + 1) / (count - 4))
}

/**
 * Mean of values that form a first-order autoregression: n of them are worth n / (1 + 2 Σ (1 − k/n) ρᵏ), and one less is
 * what they have degrees of freedom.
 */
function serialMean(values: readonly number[], correlation: number): KnownMean {
  const count = values.length
  const weight = 1 + 2 * sum(values.slice(1), (_, i) => (1 - (i + 1) / count) * correlation ** (i + 1))
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

/** Whether a difference between runs is more than luck. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { mean, studentQuantile, variance, welchDifference, type Interval } from '#shared/statistics.ts'
import { cumsum, quantileSorted } from 'd3-array'

export interface Difference {
  /** Mean of `a` minus mean of `b`. */
  readonly difference: number
  /** 95 % interval of the difference. */
  readonly interval: Interval
  /** The interval leaves 0 out. */
  readonly isReal: boolean
  readonly method: 'seeds' | 'bootstrap'
  readonly counts: readonly [number, number]
}

const share = 0.95
const resamples = 2000

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

/**
 * By values of single runs, such as the rewards of the last steps: percentile bootstrap of the difference of means.
 * Neighbouring steps resemble each other, so whole blocks of √n of them are drawn (Künsch 1989). It tells the noise
 * of these two runs only; what another seed would have done it cannot know.
 */
export function bootstrapDifference(a: readonly number[], b: readonly number[], seed = 1): Difference | null {
  if (a.length < 4 || b.length < 4) return null
  const random = new SequentialRandom(randomStream(seed, a.length, b.length))
  const [fromA, fromB] = [resampler(a, random), resampler(b, random)]
  const differences = Array.from({ length: resamples }, () => fromA() - fromB())
  differences.sort((x, y) => x - y)
  const interval = {
    low: quantileSorted(differences, (1 - share) / 2) ?? NaN,
    high: quantileSorted(differences, 1 - (1 - share) / 2) ?? NaN,
  }
  return told(mean(a) - mean(b), interval, 'bootstrap', [a.length, b.length])
}

const told = (
  difference: number,
  interval: Interval,
  method: Difference['method'],
  counts: readonly [number, number],
): Difference => ({
  difference,
  interval,
  isReal: (interval.low > 0 || interval.high < 0) && difference !== 0,
  method,
  counts,
})

/** Draws means of resamples. A block that reaches the end goes on at the beginning. */
function resampler(values: readonly number[], random: SequentialRandom): () => number {
  const count = values.length
  const block = Math.max(1, Math.round(Math.sqrt(count)))
  // The sum of a block is a difference of two of these.
  const sums = Float64Array.from([0, ...cumsum([...values, ...values.slice(0, block)])])
  return () => {
    let sum = 0
    for (let drawn = 0; drawn < count; drawn += block) {
      const start = Math.floor(random.uniform() * count)
      const end = start + Math.min(block, count - drawn)
      sum += (sums[end] ?? 0) - (sums[start] ?? 0)
    }
    return sum / count
  }
}

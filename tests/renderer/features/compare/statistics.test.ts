import { describe, expect, test } from 'vitest'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { bootstrapDifference, seedDifference } from '#renderer/features/compare/statistics.ts'

describe('is the gap real', () => {
  test('by seeds: Welch’s interval', () => {
    // Worked by hand: means 10 and 7, variances 1 and 1, n = 3: error √(2/3), 4 degrees of freedom.
    const found = seedDifference([9, 10, 11], [6, 7, 8])!
    expect(found.difference).toBe(3)
    expect(found.interval.low).toBeCloseTo(3 - 2.7764451 * Math.sqrt(2 / 3), 6)
    expect(found.isReal).toBe(true)
  })

  test('seeds that overlap leave it open', () => {
    expect(seedDifference([1, 5], [2, 4.5])?.isReal).toBe(false)
    expect(seedDifference([1], [2, 3])).toBeNull()
  })

  test('by bootstrap: a wide gap is real, none is not, and the answer stays the same', () => {
    const random = new SequentialRandom(randomStream(5))
    const noisy = (mean: number) => Array.from({ length: 60 }, () => mean + 0.2 * random.normal())
    const [a, b, c] = [noisy(0.8), noisy(0.5), noisy(0.5)]
    expect(bootstrapDifference(a, b)?.isReal).toBe(true)
    expect(bootstrapDifference(b, c)?.isReal).toBe(false)
    expect(bootstrapDifference(a, b)).toEqual(bootstrapDifference(a, b))
  })

  test('the interval of a bootstrap is about as wide as theory says', () => {
    const random = new SequentialRandom(randomStream(6))
    const a = Array.from({ length: 400 }, () => random.normal())
    const b = Array.from({ length: 400 }, () => random.normal())
    const { low, high } = bootstrapDifference(a, b)!.interval
    const theory = 2 * 1.96 * Math.sqrt(2 / 400)
    expect((high - low) / theory).toBeGreaterThan(0.75)
    expect((high - low) / theory).toBeLessThan(1.25)
  })

  test('resembling neighbours widen it', () => {
    const slow = Array.from({ length: 100 }, (_, i) => (i % 20 < 10 ? 1 : 0))
    const quick = Array.from({ length: 100 }, (_, i) => i % 2)
    const width = (values: readonly number[]) => {
      const { low, high } = bootstrapDifference(
        values,
        Array.from({ length: 100 }, () => 0.5),
      )!.interval
      return high - low
    }
    expect(width(slow)).toBeGreaterThan(2 * width(quick))
  })
})

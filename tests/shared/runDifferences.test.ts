import { describe, expect, test } from 'vitest'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { runDifference, seedDifference } from '#shared/runDifferences.ts'

describe('is the gap real', () => {
  test('by seeds: Welch’s interval', () => {
    // Worked by hand: means 10 and 7, variances 1 and 1, n = 3: error √(2/3), 4 degrees of freedom.
    const found = seedDifference([9, 10, 11], [6, 7, 8])!
    expect(found.difference).toBe(3)
    expect(found.interval?.low).toBeCloseTo(3 - 2.7764451 * Math.sqrt(2 / 3), 6)
    expect(found.isReal).toBe(true)
  })

  test('seeds that overlap leave it open', () => {
    expect(seedDifference([1, 5], [2, 4.5])?.isReal).toBe(false)
    expect(seedDifference([1], [2, 3])).toBeNull()
  })

  const random = new SequentialRandom(randomStream(5))
  const noisy = (count: number, mean: number) =>
    Array.from({ length: count }, () => mean + 0.2 * random.normal())
  const widthOf = (a: readonly number[], b: readonly number[]) => {
    const { low, high } = runDifference(a, b)?.interval ?? { low: NaN, high: NaN }
    return high - low
  }

  test('by values of two runs: a wide gap is real, none is not', () => {
    const [a, b, c] = [noisy(60, 0.8), noisy(60, 0.5), noisy(60, 0.5)]
    expect(runDifference(a, b)).toMatchObject({ isReal: true, method: 'runs', counts: [60, 60] })
    expect(runDifference(b, c)?.isReal).toBe(false)
  })

  test('below 20 values there is no verdict, however wide the gap', () => {
    expect(runDifference(noisy(19, 9), noisy(60, 0))).toBeNull()
    expect(runDifference(noisy(20, 9), noisy(20, 0))?.isReal).toBe(true)
  })

  test('the interval is about as wide as theory says where values are independent', () => {
    const theory = 2 * 1.96 * 0.2 * Math.sqrt(2 / 400)
    const width = widthOf(noisy(400, 0), noisy(400, 0))
    expect(width / theory).toBeGreaterThan(0.75)
    expect(width / theory).toBeLessThan(1.5)
  })

  test('resembling neighbours widen it, and values that drift as a whole have none', () => {
    const still = Array.from({ length: 100 }, () => 0.5)
    const slow = Array.from({ length: 100 }, (_, i) => (i % 20 < 10 ? 1 : 0))
    const quick = Array.from({ length: 100 }, (_, i) => i % 2)
    expect(widthOf(slow, still)).toBeGreaterThan(2 * widthOf(quick, still))
    const rising = Array.from({ length: 100 }, (_, i) => i)
    expect(runDifference(rising, still)).toMatchObject({ difference: 49, interval: null, isReal: false })
  })

  test('what does not vary has no noise', () => {
    const [low, high] = [0.5, 0.75].map((value) => new Array<number>(30).fill(value)) as [number[], number[]]
    expect(runDifference(high, low)).toMatchObject({ interval: { low: 0.25, high: 0.25 }, isReal: true })
    expect(runDifference(low, low)?.isReal).toBe(false)
    const tenths = new Array<number>(30).fill(0.1)
    expect(runDifference(high, tenths)?.isReal).toBe(true)
  })
})

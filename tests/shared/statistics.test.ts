import { expect, test } from 'vitest'
import {
  meanEstimate,
  pairedDifference,
  passAtK,
  shareDifference,
  shareEstimate,
  studentQuantile,
  studentTails,
  welchDifference,
  wilson,
} from '#shared/statistics.ts'

// Numbers are of SciPy 1.17: stats.t, stats.ttest_ind and stats.permutation_test over every sign pattern.

test.each([
  [1, 12.706204736174694],
  [2, 4.302652729749462],
  [2.7, 3.3921483831737507],
  [5, 2.5705818356363146],
  [29, 2.045229642132703],
  [1000, 1.9623390808264083],
])('the 95 %% quantile of Student’s t with %d degrees of freedom', (freedom, value) => {
  expect(studentQuantile(freedom)).toBeCloseTo(value, 9)
})

test.each([
  [1, 3, 0.3910022189557705],
  [2.5, 7.3, 0.03965023466560043],
  [0.1, 40, 0.9208438530452802],
  [5, 2, 0.037749551350623724],
])('the share of Student’s t beyond ±%d with %d degrees of freedom', (t, freedom, share) => {
  expect(studentTails(t, freedom)).toBeCloseTo(share, 12)
})

test('a mean has Student’s interval; one value, or values that are all alike, have none', () => {
  const { value, interval } = meanEstimate([0.1, 0.5, 0.9, 1, 0, 0.35, 0.6]) ?? {}
  expect(value).toBeCloseTo(0.4928571428571429, 12)
  expect(interval?.low).toBeCloseTo(0.14431934477521952, 10)
  expect(interval?.high).toBeCloseTo(0.8413949409390662, 10)
  expect(meanEstimate([0.5])).toEqual({ value: 0.5, interval: null })
  expect(meanEstimate([1, 1, 1])).toEqual({ value: 1, interval: null })
  expect(meanEstimate([])).toBeNull()
})

test('the share of a count has the interval of Wilson', () => {
  // 8 of 10, as in the literature’s worked example: 0.4902 to 0.9433.
  const { low, high } = wilson(0.8, 10)
  expect(low).toBeCloseTo(0.4902, 4)
  expect(high).toBeCloseTo(0.9433, 4)
  expect(wilson(0, 0)).toEqual({ low: 0, high: 1 })
  for (let draws = 1; draws <= 200; draws++) {
    expect(wilson(0, draws).low).toBe(0)
    expect(wilson(1, draws).high).toBe(1)
  }
})

test('all right or all wrong have an interval too: that of as many draws as there are prompts', () => {
  const all = (share: number, count: number) => new Array<number>(count).fill(share)
  // n / (n + z²), with z² = 3.8415.
  expect(shareEstimate(all(1, 32), 32)?.interval?.low).toBeCloseTo(32 / 35.8415, 4)
  expect(shareEstimate(all(1, 32), 32)?.interval?.high).toBe(1)
  expect(shareEstimate(all(0, 32), 256)?.interval?.high).toBeCloseTo(3.8415 / 35.8415, 4)
  expect(shareEstimate([1], 1)?.interval).toEqual(wilson(1, 1))
  expect(shareEstimate([], 0)).toBeNull()
})

test('samples of one prompt count between once and each, as they resemble each other', () => {
  const alike = Array.from({ length: 60 }, (_, i) => Number(i % 3 === 0))
  expect(shareEstimate(alike, 240)?.interval).toEqual(wilson(1 / 3, 60))
  const unlike = new Array<number>(60).fill(0.5)
  // 59 degrees of freedom trust the 240 samples a little less.
  const worth = 240 * (1.959964 / studentQuantile(59)) ** 2
  expect(shareEstimate(unlike, 240)?.interval?.low).toBeCloseTo(wilson(0.5, worth).low, 6)
})

test.each([
  [10, 3, 1, 0.3],
  [10, 3, 5, 0.9166666666666666],
  [5, 5, 3, 1],
  [8, 0, 4, 0],
  [200, 13, 100, 0.9999194971988055],
])('pass@k of %d samples of which %d pass, k = %d', (samples, passes, k, expected) => {
  expect(passAtK(samples, passes, k)).toBeCloseTo(expected, 12)
})

test('few pairs are tested by every sign pattern', () => {
  const found = pairedDifference([0.5, 0.2, -0.1, 0.4, 0.3, 0, 0.6, -0.2, 0.7, 0.1])
  expect(found?.difference).toBeCloseTo(0.25, 12)
  expect(found?.pValue).toBe(0.04296875)
  // Found in Python by moving the shift until the test refuses it.
  expect(found?.interval?.low).toBeCloseTo(0.025, 9)
  expect(found?.interval?.high).toBeCloseTo(0.475, 9)
})

test('equal sums count as equal whatever their last bit', () => {
  // By hand: 0.1 + 0.2 against 0.3: two of eight patterns are as extreme on each side.
  expect(pairedDifference([0.1, 0.2, -0.3])?.pValue).toBe(1)
  expect(pairedDifference([0.1, 0.2, 0.3])?.pValue).toBe(0.25)
})

// 2,000,000 patterns drawn by SciPy: p = 0.2733; Student's interval is −0.057 to 0.197.
const forty = [
  ...[0.16, 0.03, 0.42, 0.15, -0.17, 0.28, 0.75, 0.57, -0.25, -0.53, -0.21, 0.12, -1.06, -0.01, -0.52],
  ...[-0.27, -0.17, -0.06, 0.31, 0.62, 0.04, 0.78, -0.23, 0.28, 0.55, 0.15, -0.27, -0.36, -0.13, 0.21],
  ...[-0.4, 0, 0.02, 0.37, 0.21, 0.28, -0.23, 0.04, 0.49, 0.85],
]

test('many pairs are tested by patterns drawn with the seed', () => {
  const found = pairedDifference(forty)
  expect(found?.pValue).toBeGreaterThan(0.26)
  expect(found?.pValue).toBeLessThan(0.287)
  expect(found?.interval?.low).toBeCloseTo(-0.057, 1.9)
  expect(found?.interval?.high).toBeCloseTo(0.197, 1.9)
  expect(pairedDifference(forty)).toEqual(found)
  expect(pairedDifference(forty, 2)).not.toEqual(found)
})

test.each([-0.2, -0.12, -0.06, 0, 0.06, 0.12])(
  'interval and p value agree where all is moved by %d',
  (by) => {
    const { interval, pValue } = pairedDifference(forty.map((value) => value + by)) ?? { pValue: NaN }
    const leavesOutZero =
      interval !== null && interval !== undefined && (interval.low > 0 || interval.high < 0)
    expect(leavesOutZero).toBe(pValue <= 0.05)
  },
)

test('fewer than six pairs bound nothing; no difference is no difference', () => {
  expect(pairedDifference([1, 1, 1, 1, 1])).toEqual({ difference: 1, interval: null, pValue: 0.0625 })
  expect(pairedDifference(new Array<number>(200).fill(0))).toMatchObject({ difference: 0, pValue: 1 })
  expect(pairedDifference([])).toBeNull()
})

test('independent means are compared as Welch does', () => {
  const found = welchDifference([0.9, 0.8, 0.4, 1, 0.7], [0.2, 0.5, 0.3, 0.6, 0.1, 0.4, 0.45])
  expect(found?.difference).toBeCloseTo(0.3957142857142857, 12)
  expect(found?.pValue).toBeCloseTo(0.013911969987733504, 12)
  expect(found?.interval?.low).toBeCloseTo(0.10774745848257822, 10)
  expect(found?.interval?.high).toBeCloseTo(0.6836811129459932, 10)
  expect(welchDifference([1], [0, 1])).toBeNull()
})

test('two that are alike on both sides say nothing of their spread; more of them do', () => {
  expect(welchDifference([0.9, 0.9], [0.8, 0.8])).toBeNull()
  expect(welchDifference([0.1, 0.1, 0.1], [0.8, 0.8])).toBeNull()
  expect(welchDifference([3, 3, 3], [2, 2, 2])).toMatchObject({ difference: 1, pValue: 0 })
})

test('shares are compared with a success and a failure more on each side', () => {
  expect(shareDifference([1, 1], [0, 0])?.pValue).toBeGreaterThan(0.05)
  const [a, b] = [new Array<number>(40).fill(1), new Array<number>(40).fill(0)]
  expect(shareDifference(a, b)).toMatchObject({ difference: 1 })
  expect(shareDifference(a, b)?.interval).toEqual(welchDifference([...a, 0, 1], [...b, 0, 1])?.interval)
  expect(shareDifference([1], [0, 0])).toBeNull()
})

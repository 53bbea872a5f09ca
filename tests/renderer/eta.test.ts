import { describe, expect, test } from 'vitest'
import { estimate, etaWords } from '#renderer/eta.ts'

const times = (...seconds: number[]) => seconds.map((second, step) => ({ step, at: second * 1000 }))

describe('the rest of a run', () => {
  test('is unknown until two steps have ended', () => {
    expect(estimate([], 10)).toBeNull()
    expect(estimate(times(5), 10)).toBeNull()
  })

  test('is what the last steps took, as a range', () => {
    const eta = estimate(times(0, 2, 4, 6, 8), 10)
    expect(eta).toEqual({ secondsPerStep: 2, lowMs: 20_000, highMs: 20_000 })
    const uneven = estimate(times(0, 1, 2, 5, 8), 10)
    expect(uneven?.secondsPerStep).toBe(2)
    expect(uneven?.lowMs).toBe(10_000)
    expect(uneven?.highMs).toBe(30_000)
  })

  test('forgets steps older than the last twenty and counts steps that were not seen', () => {
    const slowStart = [
      { step: 0, at: 0 },
      ...Array.from({ length: 21 }, (_, i) => ({ step: i + 1, at: 1e6 + i * 1000 })),
    ]
    expect(estimate(slowStart, 1)?.secondsPerStep).toBe(1)
    expect(
      estimate(
        [
          { step: 2, at: 0 },
          { step: 6, at: 8000 },
        ],
        1,
      )?.secondsPerStep,
    ).toBe(2)
  })

  test.each([
    [20_000, 20_000, '20 s'],
    [110_000, 170_000, '1–3 min'],
    [3_000_000, 8_000_000, '1–3 h'],
    [100, 400, '1 s'],
  ])('%d to %d ms reads %s', (lowMs, highMs, words) => {
    expect(etaWords({ lowMs, highMs })).toBe(words)
  })
})

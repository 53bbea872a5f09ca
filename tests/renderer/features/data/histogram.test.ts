import { describe, expect, test } from 'vitest'
import { cutBeyond, roundTicks, wholeTicks } from '#renderer/features/data/histogram.ts'

describe('cutBeyond', () => {
  test('a row as long as the limit stays', () => {
    const lengths = [
      [10, 1],
      [11, 2],
      [12, 3],
    ] as const
    expect(cutBeyond(lengths, 11)).toEqual({ rows: 3, share: 0.5 })
    expect(cutBeyond(lengths, 12)).toEqual({ rows: 0, share: 0 })
    expect(cutBeyond(lengths, 9)).toEqual({ rows: 6, share: 1 })
    expect(cutBeyond([], 5)).toEqual({ rows: 0, share: 0 })
  })

  test('one very long row does not take the others along', () => {
    expect(
      cutBeyond(
        [
          [12, 50],
          [80_003, 1],
        ],
        112,
      ),
    ).toEqual({ rows: 1, share: 1 / 51 })
  })
})

test('ticks are round and inside', () => {
  expect(roundTicks(0, 29, 4)).toEqual([0, 10, 20])
  expect(roundTicks(7, 17, 5)).toEqual([8, 10, 12, 14, 16])
  expect(roundTicks(3, 3)).toEqual([3])
  expect(wholeTicks(0, 2, 6)).toEqual([0, 1, 2])
})

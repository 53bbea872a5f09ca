import { describe, expect, test } from 'vitest'
import { cutBeyond, roundTicks, wholeTicks } from '#renderer/components/data/histogram.ts'

describe('cutBeyond', () => {
  const ones = [10, 11, 12].map((from, at) => ({ from, to: from + 1, count: at + 1 }))
  const tens = [
    { from: 0, to: 10, count: 10 },
    { from: 10, to: 20, count: 30 },
  ]

  test('with one length per bin it is exact: a row as long as the limit stays', () => {
    expect(cutBeyond(ones, 11)).toEqual({ rows: 3, share: 0.5, isEstimate: false })
    expect(cutBeyond(ones, 12)).toEqual({ rows: 0, share: 0, isEstimate: false })
    expect(cutBeyond(ones, 9)).toEqual({ rows: 6, share: 1, isEstimate: false })
  })

  test('at the edge of a bin it is exact, inside it is an estimate', () => {
    expect(cutBeyond(tens, 9)).toEqual({ rows: 30, share: 0.75, isEstimate: false })
    expect(cutBeyond(tens, 14)).toEqual({ rows: 15, share: 0.375, isEstimate: true })
  })

  test('an empty bin does not make an estimate of it', () => {
    expect(cutBeyond([{ from: 0, to: 10, count: 0 }], 5)).toEqual({ rows: 0, share: 0, isEstimate: false })
  })
})

test('ticks are round and inside', () => {
  expect(roundTicks(0, 29, 4)).toEqual([0, 10, 20])
  expect(roundTicks(7, 17, 5)).toEqual([8, 10, 12, 14, 16])
  expect(roundTicks(3, 3)).toEqual([3])
  expect(wholeTicks(0, 2, 6)).toEqual([0, 1, 2])
})

import { describe, expect, test } from 'vitest'
import {
  bandCounts,
  bandOf,
  binLabel,
  passRate,
  rateBins,
  rated,
  rowsSoFar,
} from '#renderer/features/data/passRates.ts'

const row = (at: number, values: (number | null)[]) => ({
  row: at,
  mean: null,
  values,
  text: `row ${String(at)}`,
})

describe('passRate', () => {
  test('a sum that misses the mark by a hair passes', () => {
    expect(passRate([0.1 + 0.2, 0.8 * 0.1 + 0.2 * 1.1, 0], 0.3)).toBeCloseTo(2 / 3)
  })
  test('completions without a reward do not count; none at all is no rate', () => {
    expect(passRate([1, null, 0], 0.5)).toBe(0.5)
    expect(passRate([null], 0.5)).toBeNull()
  })
})

test('never and always teach nothing, everything between does', () => {
  expect([0, 0.01, 0.99, 1, null].map(bandOf)).toEqual(['hard', 'useful', 'useful', 'easy', null])
})

describe('rateBins', () => {
  const four = rated(
    [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [null]].map(
      (values, at) => row(at, values),
    ),
    0.5,
  )

  test('one bin for each rate that four completions can have', () => {
    const bins = rateBins(four, 4)
    expect(bins.map((bin) => [binLabel(bin, 4), bin.count])).toEqual([
      ['never', 1],
      ['1 of 4', 2],
      ['2 of 4', 1],
      ['3 of 4', 1],
      ['always', 1],
    ])
    expect(bandCounts(four)).toEqual({ hard: 1, useful: 4, easy: 1, unrated: 1 })
  })

  test('two completions: a half is in between', () => {
    const bins = rateBins(rated([row(0, [1, 0])], 0.5), 2)
    expect(bins.map(({ count }) => count)).toEqual([0, 1, 0])
  })

  test('one completion has nothing in between', () => {
    const bins = rateBins(rated([row(0, [1]), row(1, [0])], 0.5), 1)
    expect(bins.map(({ count }) => count)).toEqual([1, 0, 1])
  })

  test('many completions share bins, and every row is in one', () => {
    const many = rated(
      Array.from({ length: 33 }, (_, passed) =>
        row(
          passed,
          Array.from({ length: 32 }, (_unused, at) => (at < passed ? 1 : 0)),
        ),
      ),
      0.5,
    )
    const bins = rateBins(many, 32)
    expect(bins.length).toBe(10)
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(33)
    expect(bins[1]?.count).toBe(4)
  })
})

describe('rowsSoFar', () => {
  const progress = { phase: 'Measuring', done: 1, total: 2, unit: 'rows' as const }
  const items = [
    { progress, row: row(3, [1]) },
    { progress, row: { row: 1, problem: 'no prompt' } },
  ]

  test('gathers rows and those without a prompt', () => {
    expect(rowsSoFar(items)).toEqual({ rows: [row(3, [1])], problems: [{ row: 1, problem: 'no prompt' }] })
  })

  test('the whole takes the place of the parts', () => {
    const summary = { id: 'x' } as never
    const result = { summary, rows: [row(3, [1]), row(4, [0])], problems: [] }
    expect(rowsSoFar([...items, { result }])).toEqual({ rows: result.rows, problems: [] })
  })
})

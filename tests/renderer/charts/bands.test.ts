import { describe, expect, test } from 'vitest'
import { bandOf } from '#renderer/charts/curves.ts'

const line = (pairs: readonly (readonly [number, number])[]) => pairs.map(([x, y]) => ({ x, y }))

describe('bands', () => {
  test('mean and range on a common x', () => {
    const { points, band } = bandOf(
      [
        line([
          [0, 0],
          [2, 2],
        ]),
        line([
          [0, 4],
          [1, 5],
          [2, 6],
        ]),
      ],
      'range',
    )
    expect(points.map(({ x, last }) => [x, last])).toEqual([
      [0, 2],
      [1, 3],
      [2, 4],
    ])
    expect(band).toEqual([
      { x: 0, low: 0, high: 4 },
      { x: 1, low: 1, high: 5 },
      { x: 2, low: 2, high: 6 },
    ])
  })

  test('the 95 % interval of the mean, by Student’s t over the lines', () => {
    const { band } = bandOf([line([[0, 1]]), line([[0, 2]]), line([[0, 3]])], 'interval')
    const reach = 4.302653 / Math.sqrt(3)
    expect(band[0]?.low).toBeCloseTo(2 - reach, 5)
    expect(band[0]?.high).toBeCloseTo(2 + reach, 5)
    expect(bandOf([line([[0, 1]])], 'interval').band[0]).toEqual({ x: 0, low: 1, high: 1 })
  })

  test('one standard deviation', () => {
    const { band } = bandOf([line([[0, 1]]), line([[0, 2]]), line([[0, 3]])], 'deviation')
    expect(band).toEqual([{ x: 0, low: 1, high: 3 }])
  })

  test('no line is read beyond its ends', () => {
    const { points } = bandOf(
      [
        line([
          [0, 0],
          [10, 0],
        ]),
        line([[5, 6]]),
      ],
      'range',
    )
    expect(points.map(({ x, last }) => [x, last])).toEqual([
      [0, 0],
      [5, 3],
      [10, 0],
    ])
  })

  test('many places become an even grid', () => {
    const long = (shift: number) => line(Array.from({ length: 1000 }, (_, i) => [i + shift, i]))
    const { points } = bandOf([long(0), long(0.5)], 'range')
    expect(points).toHaveLength(300)
    expect(points[0]!.x).toBe(0)
    expect(points.at(-1)!.x).toBe(999.5)
  })
})

import { describe, expect, test } from 'vitest'
import { automaticSmoothing, forgettingUnit, smooth } from '#renderer/charts/curves.ts'
import { pointAt, type ChartPoint } from '#renderer/charts/lines.ts'

const line = (values: readonly (readonly [number, number])[]): ChartPoint[] =>
  values.map(([x, y]) => pointAt(x, x, y))

describe('smoothing', () => {
  test('evenly spaced points: the plain average with its bias taken away', () => {
    const points = line([
      [0, 1],
      [1, 3],
      [2, 2],
    ])
    const w = 0.5
    const expected = [1, (3 + w * 1) / (1 + w), (2 + w * 3 + w * w * 1) / (1 + w + w * w)]
    smooth(points, w, 1).forEach(({ y }, i) => expect(y).toBeCloseTo(expected[i]!, 12))
  })

  test('a constant stays what it is from the first point on', () => {
    const points = line(Array.from({ length: 50 }, (_, i) => [i * i, 7]))
    for (const { y } of smooth(points, 0.99, 1)) expect(y).toBeCloseTo(7, 10)
  })

  test('what lies far behind counts less', () => {
    const near = smooth(
      line([
        [0, 0],
        [1, 1],
      ]),
      0.9,
      1,
    )[1]!.y
    const far = smooth(
      line([
        [0, 0],
        [20, 1],
      ]),
      0.9,
      1,
    )[1]!.y
    expect(near).toBeCloseTo(1 / 1.9, 12)
    expect(far).toBeCloseTo(1 / (1 + 0.9 ** 20), 12)
  })

  test('lines of another density look alike', () => {
    const wave = (x: number) => Math.sin(x / 40)
    const dense = line(Array.from({ length: 401 }, (_, i) => [i, wave(i)]))
    const sparse = line(Array.from({ length: 101 }, (_, i) => [i * 4, wave(i * 4)]))
    const unit = forgettingUnit([dense, sparse])
    expect(unit).toBe(1)
    const [a, b] = [smooth(dense, 0.95, unit), smooth(sparse, 0.95, unit)]
    for (let i = 20; i < 101; i++) expect(Math.abs(a[i * 4]!.y - b[i]!.y)).toBeLessThan(0.06)
  })

  test('a stretch counts as often as it has values', () => {
    const stretch: ChartPoint = {
      x: 1,
      endX: 3,
      step: 1,
      lastStep: 3,
      min: 1,
      max: 1,
      mean: 1,
      last: 1,
      count: 3,
    }
    const smoothed = smooth([pointAt(0, 0, 0), stretch], 0.5, 1)
    expect(smoothed[1]!.y).toBeCloseTo(3 / (3 + 0.125), 12)
  })

  test('no smoothing shows the last value of each stretch', () => {
    expect(
      smooth(
        line([
          [0, 4],
          [2, 9],
        ]),
        0,
        1,
      ),
    ).toEqual([
      { x: 0, y: 4 },
      { x: 2, y: 9 },
    ])
  })

  test('short lines are left alone', () => {
    expect([automaticSmoothing(199), automaticSmoothing(200)]).toEqual([0, 0.6])
  })
})

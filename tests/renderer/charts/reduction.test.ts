import { describe, expect, test } from 'vitest'
import { appended, halved, withDetail, type Series } from '#renderer/charts/live.ts'
import { pointAt, type ChartPoint } from '#renderer/charts/points.ts'
import { largestTriangles, mergeStretches, pieces, strokes } from '#renderer/charts/reduction.ts'

const single = (step: number, y: number) => pointAt(step, step, y)
const stretch = (
  step: number,
  lastStep: number,
  [min, max, last]: readonly [number, number, number],
): ChartPoint => ({
  x: step,
  endX: lastStep,
  step,
  lastStep,
  min,
  max,
  mean: (min + max) / 2,
  last,
  count: lastStep - step + 1,
})

describe('strokes', () => {
  test('a stretch goes through its lowest and highest value and ends where it ended', () => {
    const dots = strokes([single(0, 1), stretch(1, 9, [0, 5, 2])])
    expect(dots).toEqual([
      { x: 0, y: 1 },
      { x: 1, y: 0 },
      { x: 5, y: 5 },
      { x: 9, y: 2 },
    ])
  })

  test('the extreme nearer to where the line comes from is first', () => {
    const dots = strokes([single(0, 5), stretch(1, 9, [0, 6, 2])])
    expect(dots.map(({ y }) => y)).toEqual([5, 6, 0, 2])
  })

  test('no spike is lost', () => {
    const points = Array.from({ length: 40 }, (_, i) =>
      stretch(i * 10, i * 10 + 9, [0, i === 17 ? 99 : 1, 0.5]),
    )
    const merged = mergeStretches(points, 7)
    expect(merged.length).toBeLessThanOrEqual(7)
    expect(Math.max(...strokes(merged).map(({ y }) => y))).toBe(99)
    expect(merged.reduce((sum, { count }) => sum + count, 0)).toBe(400)
  })
})

describe('largest triangles', () => {
  test('keeps the ends, the limit and the peak', () => {
    const dots = Array.from({ length: 1000 }, (_, x) => ({ x, y: x === 500 ? 10 : Math.sin(x / 50) }))
    const kept = largestTriangles(dots, 50)
    expect(kept).toHaveLength(50)
    expect(kept[0]).toEqual(dots[0])
    expect(kept.at(-1)).toEqual(dots.at(-1))
    expect(kept).toContainEqual({ x: 500, y: 10 })
    expect(kept.every(({ x }, i) => i === 0 || x > kept[i - 1]!.x)).toBe(true)
  })

  test('short lines are the same', () => {
    const dots = [
      { x: 0, y: 0 },
      { x: 1, y: 1 },
    ]
    expect(largestTriangles(dots, 50)).toBe(dots)
  })
})

describe('gaps', () => {
  const dots = [0, 1, 3, 4, 8].map((x) => ({ x, y: x }))

  test('no piece crosses one', () => {
    expect(pieces(dots, [2, 6]).map((piece) => piece.map(({ x }) => x))).toEqual([[0, 1], [3, 4], [8]])
  })

  test('those before and behind the line cut nothing', () => {
    expect(pieces(dots, [-1, 9])).toHaveLength(1)
  })
})

describe('live series', () => {
  const base: Series = { points: [single(1, 1), single(2, 2)], gaps: [] }

  test('known steps are passed over, values that are no numbers become gaps', () => {
    const series = appended(base, [2, 3, 4], [9, null, 4], 100)
    expect(series.points.map(({ step, last }) => [step, last])).toEqual([
      [1, 1],
      [2, 2],
      [4, 4],
    ])
    expect(series.gaps).toEqual([3])
  })

  test('a growing series is put together, with nothing lost', () => {
    let series: Series = { points: [], gaps: [] }
    for (let step = 0; step < 1000; step++)
      series = appended(series, [step], [step === 333 ? 50 : step / 1000], 20)
    expect(series.points.length).toBeLessThanOrEqual(40)
    expect(series.points.reduce((sum, { count }) => sum + count, 0)).toBe(1000)
    expect(Math.max(...series.points.map(({ max }) => max))).toBe(50)
    expect(series.points.at(-1)!.last).toBe(0.999)
  })

  test('halving keeps first, last, extremes and mean', () => {
    const [one] = halved([stretch(0, 3, [0, 4, 1]), stretch(4, 4, [9, 9, 9])])
    expect(one).toEqual({ step: 0, lastStep: 4, min: 0, max: 9, mean: (2 * 4 + 9) / 5, last: 9, count: 5 })
  })

  test('detail takes the place of what it covers; what grew since stays', () => {
    const whole: Series = {
      points: [stretch(0, 9, [0, 1, 0]), stretch(10, 19, [0, 1, 0]), single(25, 3)],
      gaps: [15, 30],
    }
    const fine: Series = { points: [single(12, 1), single(13, 0)], gaps: [14] }
    const both = withDetail(whole, fine, [10, 20])
    expect(both.points.map(({ step }) => step)).toEqual([0, 12, 13, 25])
    expect(both.gaps).toEqual([14, 30])
  })
})

import { describe, expect, test } from 'vitest'
import { mergeStretches, snapped, strokes, valuesAt } from '#renderer/charts/curves.ts'
import { pointAt, type ChartPoint, type Series } from '#renderer/charts/lines.ts'
import { appended, halved, withDetail } from '#renderer/charts/useSeries.ts'

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

describe('values at places', () => {
  const dots = [0, 1, 3, 4, 8].map((x) => ({ x, y: 10 * x }))

  test('lie between the dots, and nowhere beyond them', () => {
    expect(valuesAt([-1, 0, 2, 3, 6, 8, 9], dots)).toEqual([null, 0, 20, 30, 60, 80, null])
    expect(valuesAt([1], [])).toEqual([null])
  })

  test('are straight on the scale that draws them', () => {
    const two = [
      { x: 0, y: 1 },
      { x: 2, y: 100 },
    ]
    expect(valuesAt([1], two, { scale: 'log' })[0]).toBeCloseTo(10, 12)
  })

  test('no line crosses a gap', () => {
    expect(valuesAt([1, 2, 3, 4, 6, 8], dots, { gaps: [-1, 2, 6, 9] })).toEqual([10, null, 30, 40, null, 80])
  })

  test('moved to a grid, spikes stay', () => {
    const places = [0, 10, 20, 30]
    const long = Array.from({ length: 31 }, (_, x) => ({ x, y: x === 17 ? 99 : 1 }))
    const moved = snapped(long, places)
    expect(moved.map(({ x }) => x)).toEqual(places)
    expect(moved[2]).toEqual({ x: 20, y: 99 })
    expect(snapped([{ x: 77, y: 1 }], places)).toEqual([{ x: 77, y: 1 }])
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

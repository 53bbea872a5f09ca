import { describe, expect, test } from 'vitest'
import { axesOf, readNumber, valueAxis, withEnd } from '#renderer/charts/axes.ts'
import { hasLook, lookQuery, parseLook, defaultLook } from '#renderer/charts/curveLook.ts'
import { pointAt, seriesLine, withBand, type ChartLine } from '#renderer/charts/lines.ts'
import { plotOf } from '#renderer/charts/plot.ts'
import { nearestOf, placeText, readingOf } from '#renderer/charts/reading.ts'

const series = (values: readonly (readonly [step: number, value: number])[]) => ({
  points: values.map(([step, value]) => pointAt(step, step, value)),
  gaps: [],
})
const style = (id: string) => ({ id, label: id, color: 'red' })
const plotWith = (lines: readonly ChartLine[]) => {
  const plot = plotOf(lines, { xAxis: 'step', smoothing: 0, scale: 'linear', zoom: null })
  if (plot === null) throw new Error('Expected something to draw.')
  return plot
}

describe('the look of curves in an address', () => {
  test('says the same when it is read back, and nothing where all is usual', () => {
    const text = 'x=time&smoothing=0.75&scale=log'
    expect(lookQuery(parseLook(new URLSearchParams(text)))).toEqual(
      Object.fromEntries(new URLSearchParams(text)),
    )
    expect(lookQuery(defaultLook)).toEqual({ x: null, smoothing: null, scale: null })
    expect(parseLook(new URLSearchParams('x=moon&smoothing=7&scale=odd'))).toEqual(defaultLook)
  })

  test('an address without it leaves it to what was chosen last', () => {
    expect(hasLook(new URLSearchParams('step=4'))).toBe(false)
    expect(hasLook(new URLSearchParams('step=4&scale=log'))).toBe(true)
  })

  test('axes are those there are numbers for', () => {
    expect(axesOf(['reward', 'step_time', 'num_tokens'])).toEqual(['step', 'time', 'tokens'])
    expect(axesOf([])).toEqual(['step'])
  })
})

describe('the cursor', () => {
  const training = seriesLine(style('training'), series([...Array(30).keys()].map((i) => [i + 1, i / 30])))
  const heldOut = seriesLine(
    style('held-out'),
    series([
      [0, 0.4],
      [10, 0.9],
      [20, 0.95],
      [30, 0.99],
    ]),
  )

  test('stands at the step that is named', () => {
    const plot = plotWith([training, heldOut])
    expect(plot.rows.map(({ x }) => x)).toEqual([...Array(31).keys()])
    for (const { x } of plot.rows) {
      expect(placeText(readingOf(plot, x), plot, x)).toBe(`step ${String(x)}`)
    }
  })

  test('a line that has no value there does not lend its step', () => {
    const long = seriesLine(style('long'), series([...Array(100).keys()].map((i) => [i + 1, 0.1])))
    const plot = plotWith([long, heldOut])
    const readings = readingOf(plot, 19)
    expect(readings.map(({ line }) => line.id)).toEqual(['held-out', 'long'])
    expect(nearestOf(readings, 19)?.step).toBe(19)
    expect(placeText(readings, plot, 19)).toBe('step 19')
  })
})

describe('the band', () => {
  const means = series([
    [1, 0.1],
    [2, 0.5],
    [3, 0.95],
  ])
  const bandOf = (spread: readonly number[]) =>
    withBand(seriesLine(style('reward'), means), series(spread.map((value, i) => [i + 1, value]))).band

  test('ends where rewards between 0 and 1 must', () => {
    expect(bandOf([0.3, 0.5, 0.2])).toEqual([
      { x: 1, low: 0, high: 0.4 },
      { x: 2, low: 0, high: 1 },
      { x: 3, low: 0.75, high: 1 },
    ])
  })

  test('is whole where the spread tells of values beyond', () => {
    expect(bandOf([0.3, 2, 0.2])?.[1]).toEqual({ x: 2, low: -1.5, high: 2.5 })
  })

  test('is told where the cursor stands', () => {
    const line = withBand(seriesLine(style('reward'), means), series([[2, 0.25]]))
    expect(readingOf(plotWith([line]), 2)[0]?.band).toEqual({ x: 2, low: 0.25, high: 0.75 })
  })
})

describe('numbers along the axes', () => {
  test('the last step has a tick, and none that would touch it', () => {
    const ticks = (last: number) =>
      plotWith([
        seriesLine(
          style('a'),
          series([
            [1, 0],
            [last, 1],
          ]),
        ),
      ]).xTicks
    expect(ticks(30)).toEqual([5, 10, 15, 20, 25, 30])
    expect(ticks(47)).toEqual([10, 20, 30, 40, 47])
    expect(ticks(51)).toEqual([10, 20, 30, 40, 51])
    expect(withEnd([], 0, 0)).toEqual([])
  })

  test('no axis has a single tick, and none of shares goes below 0', () => {
    for (const [low, high] of [
      [0.316, 0.877],
      [0, 0.58],
      [0.02, 0.9],
      [0, 0],
    ] as const) {
      const scale = valueAxis([low, high], 'linear', 3)
      expect(scale.ticks.length).toBeGreaterThan(1)
      expect(scale.domain[0]).toBeGreaterThanOrEqual(0)
    }
  })

  test('as many digits, so that they compare', () => {
    expect([0.84, 0.839, 4.5, 12, 0, 1, -0.5, 2e-6, 1234.5].map(readNumber)).toEqual([
      '0.840',
      '0.839',
      '4.50',
      '12',
      '0',
      '1',
      '−0.500',
      '2e−6',
      '1230',
    ])
  })
})

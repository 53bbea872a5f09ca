import { describe, expect, test } from 'vitest'
import { lastValues, pointAt, seriesLine, withBand, type ChartLine } from '#renderer/charts/lines.ts'
import { inReadingOrder, plotOf, type PlotOptions } from '#renderer/charts/plot.ts'
import { placeText, readingOf, stepAt, walk } from '#renderer/charts/reading.ts'

const lineOf = (id: string, values: readonly number[], more: Partial<ChartLine> = {}): ChartLine => ({
  id,
  label: id,
  color: `var(--${id})`,
  points: values.map((y, i) => pointAt(i, i, y)),
  ...more,
})
const options: PlotOptions = { xAxis: 'step', smoothing: 0, scale: 'linear', zoom: null }
const wave = (count: number) => Array.from({ length: count }, (_, i) => Math.sin(i / 9))
const valuesOf = (plot: ReturnType<typeof plotOf>) =>
  plot!.rows.flatMap(({ x: _, ...values }) => Object.values(values)).length
const column = (plot: ReturnType<typeof plotOf>, key: string) => plot!.rows.map((row) => row[key])

describe('a plot', () => {
  test('is nothing without points', () => {
    expect(plotOf([lineOf('a', [])], options)).toBeNull()
  })

  test('stays within what can be drawn quickly', () => {
    const lines = Array.from({ length: 12 }, (_, i) => lineOf(`r${i}`, wave(5000)))
    expect(valuesOf(plotOf(lines, options))).toBeLessThanOrEqual(6000)
    expect(valuesOf(plotOf(lines, { ...options, smoothing: 0.8 }))).toBeLessThanOrEqual(6000)
    expect(valuesOf(plotOf(lines, { ...options, isLive: true }))).toBeLessThanOrEqual(3000)
    expect(plotOf([lineOf('a', wave(5000))], { ...options, isLive: true })!.rows.length).toBeLessThanOrEqual(
      300,
    )
  })

  test('no spike is lost where there are more places than can be drawn', () => {
    const lines = Array.from({ length: 20 }, (_, i) => {
      const points = wave(400).map((y, step) => pointAt(step * (1 + i / 97), step, step === 222 ? 50 + i : y))
      return lineOf(`r${i}`, [], { points })
    })
    const plot = plotOf(lines, { ...options, xAxis: 'time', isLive: true })!
    expect(plot.rows.length).toBe(150)
    for (const [i, { key }] of plot.lines.entries())
      expect(Math.max(...column(plot, key).map(Number))).toBe(50 + i)
  })

  test('smoothing keeps the values behind it', () => {
    const smoothed = plotOf([lineOf('a', wave(50))], { ...options, smoothing: 0.5 })!
    expect(column(smoothed, 'line 0 raw')).toEqual(wave(50))
    expect(column(smoothed, 'line 0')).toHaveLength(50)
    expect(column(smoothed, 'line 0')).not.toEqual(wave(50))
    expect(plotOf([lineOf('a', wave(50))], options)!.lines[0]!.hasRaw).toBe(false)
  })

  test('short lines are not smoothed by themselves, long ones are', () => {
    expect(plotOf([lineOf('a', wave(150))], { ...options, smoothing: 'auto' })!.smoothing).toBe(0)
    expect(plotOf([lineOf('a', wave(250))], { ...options, smoothing: 'auto' })!.smoothing).toBe(0.6)
  })

  test('gaps cut lines; a value alone is a dot', () => {
    const line = lineOf('a', [1, 2, 3, 4, 5, 6], { gaps: [1.5, 4.5] })
    const plot = plotOf([line], options)!
    expect(column(plot, 'line 0')).toEqual([1, 2, null, 3, 4, 5, null, 6])
    expect(plot.lines[0]!.lone).toEqual([{ x: 5, y: 6 }])
  })

  test('lines with other steps are drawn straight across each other', () => {
    const sparse = lineOf('a', [], { points: [pointAt(0, 0, 0), pointAt(2, 2, 4)] })
    const plot = plotOf([sparse, lineOf('b', [1, 1, 1, 1])], options)
    expect(column(plot, 'line 0')).toEqual([0, 2, 4, null])
  })

  test('zoom shows its range and measures only what is in it', () => {
    const plot = plotOf([lineOf('a', [0, 1, 2, 100, 4, 5, 6])], { ...options, zoom: [4.5, 6] })!
    expect(plot.x).toEqual([4.5, 6])
    expect(plot.y.domain[1]).toBeLessThan(10)
    expect(plot.rows).toEqual([4.5, 5, 6].map((x) => ({ x, 'line 0': x })))
  })

  test('zeros on a logarithm are marked', () => {
    const plot = plotOf([lineOf('a', [0, 1, 10])], { ...options, scale: 'log' })!
    expect(plot.lines[0]!.clampedAt).toEqual([0])
    expect(plot.rows[0]!['line 0']).toBe(plot.y.domain[0])
  })

  test('a spike may leave the panel, but no value that is usual', () => {
    const values = [...wave(100), 1000, ...wave(100)]
    const [all, clipped] = [false, true].map((clipsSpikes) =>
      plotOf([lineOf('a', values)], { ...options, clipsSpikes })!,
    )
    expect(all!.y.domain[1]).toBeGreaterThan(1000)
    expect(clipped!.y.domain[1]).toBeLessThan(2.2)
    expect(clipped!.y.domain[1]).toBeGreaterThanOrEqual(1)
    expect(clipped!.y.domain[0]).toBeLessThanOrEqual(-1)
  })

  test('the baseline lies on top and is named first', () => {
    const plot = plotOf([lineOf('a', [1, 2], { isBaseline: true }), lineOf('b', [1, 2])], options)!
    expect(plot.lines.map(({ id }) => id)).toEqual(['b', 'a'])
    expect(inReadingOrder(plot.lines).map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

describe('reading a plot', () => {
  const plot = plotOf([lineOf('a', [1, 2, 3]), lineOf('b', [9, 8, 7])], options)!

  test('values at a place, the highest first', () => {
    expect(readingOf(plot, 1.02).map(({ line, value }) => [line.id, value])).toEqual([
      ['b', 8],
      ['a', 2],
    ])
    expect(placeText(readingOf(plot, 1), plot, 1)).toBe('step 1')
  })

  test('keys move from point to point', () => {
    expect(walk(plot, 1, 'ArrowRight', false)).toBe(2)
    expect(walk(plot, 1, 'ArrowRight', true)).toBe(2)
    expect(walk(plot, 1, 'Home', false)).toBe(0)
    expect(walk(plot, 1, 'a', false)).toBeNull()
  })

  test('a click means a step', () => {
    expect(stepAt(plot, 1.4)).toBe(1)
  })
})

describe('lines', () => {
  test('a band of spread', () => {
    const points = [pointAt(1, 1, 5), pointAt(2, 2, 6)]
    const line = withBand(seriesLine({ id: 'a', label: 'a', color: 'red' }, { points, gaps: [] }), {
      points: [pointAt(2, 2, 0.5)],
      gaps: [],
    })
    expect(line.band).toEqual([{ x: 2, low: 5.5, high: 6.5 }])
  })

  test('the last values, a stretch as often as it has some', () => {
    const stretch = { ...pointAt(1, 1, 3), lastStep: 3, count: 3, mean: 2, last: 4 }
    expect(lastValues([pointAt(0, 0, 9), stretch, pointAt(4, 4, 7)], 3)).toEqual([2, 2, 7])
  })
})

import { describe, expect, test } from 'vitest'
import {
  axisNumber,
  axisTime,
  clamped,
  isClamped,
  logTicks,
  ticksAlong,
  timeTicks,
  valueAxis,
  wholeTicks,
} from '#renderer/charts/axes.ts'
import { placementOf, seriesLine } from '#renderer/charts/lines.ts'

const values = (list: readonly (readonly [number, number])[]) =>
  list.map(([step, y]) => ({ step, lastStep: step, min: y, max: y, mean: y, last: y, count: 1 }))

describe('ticks', () => {
  test('steps are whole', () => {
    expect(wholeTicks(1, 4, 6)).toEqual([1, 2, 3, 4])
    expect(wholeTicks(1, 2, 6)).toEqual([1, 2])
  })

  test('numbers of trials are whole, other values as fine as there is room', () => {
    expect(ticksAlong([1, 2, 3, 4], [0.82, 4.18])).toEqual([1, 2, 3, 4])
    expect(ticksAlong([0.5, 2], [0.5, 2])).toContain(0.6)
  })

  test('powers of ten, or their multiples where there are few', () => {
    expect(logTicks(0.005, 200)).toEqual([0.01, 0.1, 1, 10, 100])
    expect(logTicks(1.5, 30)).toEqual([2, 5, 10, 20])
    expect(logTicks(1e-9, 1e9).length).toBeLessThanOrEqual(7)
  })

  test('times', () => {
    expect(timeTicks(0, 60, 6)).toEqual([0, 10, 20, 30, 40, 50, 60])
    expect(timeTicks(0, 7000, 5)).toEqual([0, 1800, 3600, 5400])
    expect([0, 0.0452, 45, 720, 5400, 200_000].map(axisTime)).toEqual([
      '0 s',
      '45.2 ms',
      '45 s',
      '12 min',
      '1.5 h',
      '2.31 d',
    ])
  })

  test('numbers', () => {
    expect([0, 0.25, 1234, 12_500, 2_500_000, 1e-5, -0.5].map(axisNumber)).toEqual([
      '0',
      '0.25',
      '1234',
      '12.5k',
      '2.5M',
      '1e−5',
      '−0.5',
    ])
  })
})

describe('axes of values', () => {
  test('ticks are round and inside', () => {
    const { domain, ticks } = valueAxis([0.02, 0.97, NaN, Infinity], 'linear')
    expect(ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
    expect(domain[0]).toBe(0)
    expect(domain[1]).toBeCloseTo(1.027, 12)
  })

  test('what a logarithm does not have lies at the edge and is marked', () => {
    const axis = valueAxis([-1, 0, 0.1, 10, Number.NaN], 'log')
    expect([-1, 0, 0.1].map((value) => isClamped(value, axis))).toEqual([true, true, false])
    expect(clamped(0, axis)).toBe(axis.domain[0])
    expect(axis.domain[0]).toBeGreaterThan(0)
    expect(axis.domain[0]).toBeLessThan(0.1)
  })

  test('nothing above 0: a linear scale', () => {
    expect(valueAxis([-3, 0], 'log').scale).toBe('linear')
  })

  test('one value has room around it', () => {
    const { domain } = valueAxis([0], 'linear')
    expect(domain[0]).toBe(0)
    expect(domain[1]).toBeGreaterThan(0)
  })
})

describe('x axes', () => {
  test('time sums steps and evaluations and knows no pauses', () => {
    const place = placementOf('time', [
      values([
        [1, 2],
        [2, 3],
        [3, 5],
      ]),
      values([
        [0, 10],
        [2, 20],
      ]),
    ])
    expect([0, 1, 2, 3].map(place)).toEqual([10, 12 + 0, 35, 40])
  })

  test('a stretch is spread evenly over its steps', () => {
    const place = placementOf('time', [
      [{ step: 1, lastStep: 10, min: 1, max: 3, mean: 2, last: 2, count: 10 }],
    ])
    expect(place(5)).toBeCloseTo(10, 12)
    expect(place(10)).toBe(20)
  })

  test('tokens are a running total', () => {
    const place = placementOf('tokens', [
      values([
        [1, 100],
        [2, 250],
      ]),
    ])
    expect([0, 1, 2].map(place)).toEqual([0, 100, 250])
  })

  test('what has no place is left out', () => {
    const series = { points: values([[1, 5]]), gaps: [] }
    const style = { id: 'a', label: 'a', color: 'red' }
    expect(seriesLine(style, series, placementOf('tokens', [])).points).toEqual([])
    expect(seriesLine(style, series).points[0]).toMatchObject({ x: 1, endX: 1, last: 5 })
  })
})

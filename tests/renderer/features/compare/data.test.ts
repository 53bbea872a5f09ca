import { describe, expect, test } from 'vitest'
import { stepAtPlace, pointAt } from '#renderer/charts/lines.ts'
import { marksOf, metricLines, stepsOfZoom } from '#renderer/features/compare/data.ts'
import { isProgress, tailLength } from '#shared/runGaps.ts'
import { measure } from '#renderer/features/compare/measures.ts'

const byStep = (step: number) => step
const series = (values: readonly number[]) => ({ points: values.map((y, i) => pointAt(i, i, y)), gaps: [] })
const run = (id: string, isBaseline = false) => ({
  id,
  label: id,
  isBaseline,
  style: { color: `c-${id}`, dash: undefined },
})

describe('lines of a panel', () => {
  const found = new Map([
    ['a', series([1, 2, 3])],
    ['b', series([3, 4, 5])],
    ['c', series([])],
  ])
  const source = {
    runs: [run('a', true), run('b'), run('c')],
    placements: new Map([
      ['a', byStep],
      ['b', (step: number) => step * 10],
    ]),
    groups: null,
    band: 'range',
    smoothing: 0,
  } as const

  test('one per run that has the metric, placed on its axis', () => {
    const lines = metricLines(found, source)
    expect(lines.map(({ id, color, isBaseline }) => [id, color, isBaseline])).toEqual([
      ['a', 'c-a', true],
      ['b', 'c-b', false],
    ])
    expect(lines[1]!.points.map(({ x }) => x)).toEqual([0, 10, 20])
  })

  test('groups have mean and band', () => {
    const placements = new Map([
      ['a', byStep],
      ['b', byStep],
    ])
    const groups = [{ id: 'group a', label: 'both', runIds: ['a', 'b'] }]
    const [line] = metricLines(found, { ...source, placements, groups })
    expect(line).toMatchObject({ id: 'group a', label: 'both', color: 'c-a', isBaseline: true })
    expect(line!.points.map(({ last }) => last)).toEqual([2, 3, 4])
    expect(line!.band).toEqual([
      { x: 0, low: 1, high: 3 },
      { x: 1, low: 2, high: 4 },
      { x: 2, low: 3, high: 5 },
    ])
  })
})

describe('zoom', () => {
  test('from places back to steps', () => {
    const place = (step: number) => step * 2.5
    expect(stepAtPlace(place, 10, 100)).toBe(4)
    expect(stepAtPlace(place, 11, 100)).toBe(4)
    expect(stepAtPlace(place, -1, 100)).toBe(0)
    expect(stepAtPlace(place, 1e9, 100)).toBe(100)
  })

  test('covers the steps of every run', () => {
    const placed = new Map([
      ['a', byStep],
      ['b', (step: number) => step * 10],
    ])
    expect(
      stepsOfZoom(
        [20, 40],
        [
          { id: 'a', steps: 100 },
          { id: 'b', steps: 100 },
        ],
        placed,
      ),
    ).toEqual([2, 41])
    expect(stepsOfZoom([20, 40], [{ id: 'z', steps: 1 }], placed)).toBeNull()
  })
})

test('what happened in a run, as marks', () => {
  const changes = [{ step: 15, key: 'rollout.temperature', from: 1, to: 0.8 }]
  const events = [
    { seq: 5, event: { type: 'checkpoint-saved', step: 10 } },
    { seq: 10, event: { type: 'resumed', keep: 8 } },
    { seq: 11, event: { type: 'checkpoint-saved', step: 20 } },
    { seq: 13, event: { type: 'warning', step: 11, message: 'memory is low' } },
    { seq: 14, event: { type: 'status', step: 11 } },
    { seq: 15, event: { type: 'settings-changed', step: 15, changes } },
    { seq: 16, event: { type: 'settings-changed', step: 18, changes } },
  ]
  const source = { id: 'a', label: 'A', color: 'red', parentStep: 4, events }
  const marks = marksOf([source], new Map([['a', (step: number) => step * 2]]))
  expect(marks.map(({ kind, x }) => [kind, x])).toEqual([
    ['fork', 8],
    ['checkpoint', 20],
    ['resume', 40],
    ['checkpoint', 40],
    ['alarm', 22],
    ['setting', 30],
  ])
  expect(marks.slice(-2).map(({ label }) => label)).toEqual(['A: memory is low', 'A: Temperature 1 → 0.8'])
  const many = marksOf([source, source, source, source], new Map([['a', byStep]]))
  expect(many.some(({ kind }) => kind === 'checkpoint')).toBe(false)
})

describe('one number per run', () => {
  const points = [0.2, 0.9, 0.5].map((y, i) => pointAt(i, i, y))

  test('last, best either way, mean of the tail', () => {
    expect(measure(points, 'last', 'higher')).toBe(0.5)
    expect(measure(points, 'best', 'higher')).toBe(0.9)
    expect(measure(points, 'best', 'lower')).toBe(0.2)
    expect(measure(points, 'tail', 'none')).toBeCloseTo(1.6 / 3, 12)
    expect(measure([], 'last', 'none')).toBeNull()
  })

  test('how much of the end counts', () => {
    expect([3, 20, 1000].map(tailLength)).toEqual([3, 5, 100])
  })

  test('progress has a direction', () => {
    expect(isProgress(0.1, 'higher')).toBe(true)
    expect(isProgress(0.1, 'lower')).toBe(false)
    expect(isProgress(0.1, 'none')).toBeNull()
  })
})

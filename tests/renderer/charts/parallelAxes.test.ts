import { describe, expect, test } from 'vitest'
import {
  chosenOf,
  dragged,
  isWithin,
  movedEnd,
  parallelAxis,
  type AxisValue,
} from '#renderer/charts/parallelAxes.ts'

const axisOf = (key: string, values: readonly AxisValue[], more: object = {}) =>
  parallelAxis({ key, label: key, ...more }, values)

describe('values on an axis', () => {
  test('numbers, widely spread numbers, names', () => {
    expect(axisOf('a', [0, 5, 10])).toMatchObject({ kind: 'number' })
    const log = axisOf('lr', [1e-5, 1e-3])
    expect(log.kind).toBe('log')
    expect(log.share(1e-4)).toBeCloseTo(0.5, 10)
    const names = axisOf('m', ['b', 'a', true])
    expect(names.kind).toBe('category')
    expect(names.ticks.map(({ text }) => text)).toEqual(['a', 'b', 'true'])
    expect(names.share('b')).toBe(0.5)
  })

  test('limits and names that were searched, whatever was tried of them', () => {
    const log = axisOf('lr', [1e-4], { range: { min: 1e-6, max: 1e-2, isLog: true } })
    expect(log.share(1e-4)).toBeCloseTo(0.5, 10)
    expect(log.textAt(0.25)).toBe('1e−5')
    expect(log.share(1)).toBe(1)
    const names = axisOf('id', ['grpo'], { names: ['rloo', 'grpo', 'sapo'] })
    expect(names.ticks.map(({ text, share }) => [text, share])).toEqual([
      ['rloo', 0],
      ['grpo', 0.5],
      ['sapo', 1],
    ])
  })

  test('missing values have no place', () => {
    expect(axisOf('a', [1, null, 2]).share(null)).toBeNull()
    expect(axisOf('a', [3, 3]).share(3)).toBe(0.5)
    expect(axisOf('a', [3, 3]).textAt(0.5)).toBe('3')
  })
})

describe('brushes', () => {
  const [a, b] = [axisOf('a', [0, 10]), axisOf('b', ['x', 'y', 'z'])]
  const isIn = (brushes: object, ...values: AxisValue[]) =>
    isWithin(
      [a, b],
      [a.share(values[0] ?? null), b.share(values[1] ?? null)],
      brushes as Readonly<Record<string, [number, number]>>,
    )

  test('a line passes where every brushed axis takes it, ends included', () => {
    expect(isIn({}, null, 'x')).toBe(true)
    expect(isIn({ a: [0.2, 0.5] }, 5, 'x')).toBe(true)
    expect(isIn({ a: [0.2, 0.5] }, 5.01, 'x')).toBe(false)
    expect(isIn({ a: [0.2, 0.5] }, null, 'x')).toBe(false)
    expect(isIn({ a: [0.2, 0.5], b: [0.5, 1] }, 3, 'x')).toBe(false)
    expect(isIn({ a: [0.2, 0.5], b: [0.5, 1] }, 3, 'z')).toBe(true)
  })

  test('runs that pass through every brush', () => {
    const specs = [{ key: 'a', label: 'a' }]
    const runs = [0, 5, 10].map((value) => ({ values: { a: value } }))
    expect(chosenOf(specs, runs, {})).toEqual(runs)
    expect(chosenOf(specs, runs, { a: [0.4, 1] })).toEqual(runs.slice(1))
  })

  test('a drag begins a brush, moves an end of one, or the whole as far as the axis goes', () => {
    expect(dragged(undefined, 0.6, 0.02)(0.2)).toEqual([0.2, 0.6])
    expect(dragged([0.2, 0.6], 0.8, 0.02)(0.9)).toEqual([0.8, 0.9])
    expect(dragged([0.2, 0.6], 0.61, 0.02)(0.7)).toEqual([0.2, 0.7])
    expect(dragged([0.2, 0.6], 0.19, 0.02)(0.9)).toEqual([0.6, 0.9])
    expect(dragged([0.25, 0.5], 0.375, 0.02)(0.5)).toEqual([0.375, 0.625])
    expect(dragged([0.25, 0.5], 0.375, 0.02)(1)).toEqual([0.75, 1])
  })

  test('keys move one end, never past the other', () => {
    expect(movedEnd(a, [0, 1], 'from', 'ArrowUp')).toEqual([0.02, 1])
    expect(movedEnd(a, [0, 1], 'to', 'PageDown')).toEqual([0, 0.9])
    expect(movedEnd(a, [0.4, 0.45], 'from', 'PageUp')).toEqual([0.45, 0.45])
    expect(movedEnd(a, [0.4, 0.45], 'to', 'Home')).toEqual([0.4, 0.4])
    expect(movedEnd(a, [0.02, 1], 'from', 'ArrowDown')).toBeNull()
    expect(movedEnd(a, [0.3, 1], 'from', 'Home')).toBeNull()
    expect(movedEnd(a, [0, 1], 'from', 'a')).toBeUndefined()
  })

  test('on an axis of names, ends stand at names', () => {
    expect(b.snapped([0.1, 0.6])).toEqual([0, 0.5])
    expect(movedEnd(b, [0, 1], 'from', 'ArrowUp')).toEqual([0.5, 1])
    expect(movedEnd(b, [0.5, 1], 'to', 'ArrowDown')).toEqual([0.5, 0.5])
    expect(b.textAt(0.5)).toBe('y')
  })
})

import { describe, expect, test } from 'vitest'
import { csvOf, seriesCsv } from '#shared/csv.ts'
import { pointAt, type ChartLine } from '#renderer/charts/lines.ts'
import { indexNear, lineFacts, tableRows, textSummary } from '#renderer/charts/reading.ts'

const points = [
  [1, 0.12],
  [180, 0.84],
  [200, 0.81],
].map(([x, y]) => pointAt(x!, x!, y!))
const line: ChartLine = { id: 'a', label: 'run a', color: 'red', points }

describe('summaries', () => {
  test('a line in words', () => {
    expect(textSummary([line], { title: 'reward', better: 'higher' })).toBe(
      'reward 0.12 → 0.81 over 200 steps, best 0.84 at 180',
    )
  })

  test('several lines by name, over another axis', () => {
    const text = textSummary([line, { ...line, label: 'run b' }], {
      title: 'kl',
      better: 'none',
      xAxis: 'tokens',
    })
    expect(text).toBe(
      'run a: kl 0.12 → 0.81 over 200 steps; run b: kl 0.12 → 0.81 over 200 steps; drawn over tokens',
    )
  })

  test('nothing yet', () => {
    expect(textSummary([{ ...line, points: [] }], { title: 'kl', better: 'none' })).toBe('kl: nothing yet')
  })

  test('best downwards, and the step of an extreme inside a stretch', () => {
    const stretch = {
      x: 5,
      endX: 9,
      step: 5,
      lastStep: 9,
      min: 0.01,
      max: 0.9,
      mean: 0.5,
      last: 0.3,
      count: 5,
    }
    expect(lineFacts([pointAt(1, 1, 0.5), stretch], 'lower')?.best).toEqual({ value: 0.01, step: 5 })
    expect(lineFacts([pointAt(1, 1, 0.5), stretch], 'none')?.best).toBeNull()
  })
})

describe('reading', () => {
  test('the nearest point within reach', () => {
    expect(indexNear(points, 150, 100)).toBe(1)
    expect(indexNear(points, 60, 100)).toBe(0)
    expect(indexNear(points, 90, 10)).toBe(-1)
    expect(indexNear(points, 1000, Infinity)).toBe(2)
    expect(indexNear([], 1, Infinity)).toBe(-1)
  })

  test('a table has the first and the last row', () => {
    const many = Array.from({ length: 1000 }, (_, i) => pointAt(i, i, i))
    const rows = tableRows(many, 50)
    expect(rows).toHaveLength(50)
    expect([rows[0]?.step, rows.at(-1)?.step]).toEqual([0, 999])
  })
})

describe('csv', () => {
  test('numbers read back the same, texts are quoted where they must', () => {
    const text = csvOf(
      ['a', 'b'],
      [
        [0.1 + 0.2, 'x,"y"'],
        [null, '=1+1'],
      ],
    )
    expect(text).toBe('a,b\n0.30000000000000004,"x,""y"""\n,\'=1+1\n')
  })

  test('one row per run and step that has a value', () => {
    const rows = [
      { step: 1, values: [0.5, null] },
      { step: 2, values: [null, null] },
      { step: 3, values: [null, 2] },
    ]
    expect(seriesCsv(['reward', 'kl'], [{ id: 'run_1', label: 'one', rows }])).toBe(
      'run,name,step,reward,kl\nrun_1,one,1,0.5,\nrun_1,one,3,,2\n',
    )
  })
})

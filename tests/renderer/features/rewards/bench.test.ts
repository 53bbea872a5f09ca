import { describe, expect, test } from 'vitest'
import {
  cellText,
  dryRunOn,
  emptyHandSample,
  parseRow,
  promptWords,
  defaultBench,
  defaultColumn,
  defaultPrompt,
} from '#renderer/features/rewards/bench.ts'
import type { DataColumn } from '#renderer/parts/rewardTypes.ts'

const column = (name: string, kinds: Record<string, number>): DataColumn => ({
  name,
  kinds,
  missing: 0,
  unique: null,
  length: null,
  value: null,
})
const columns = [
  column('question', { text: 3 }),
  column('level', { number: 3 }),
  column('solution', { text: 3 }),
]

const versionId = 'f'.repeat(64)
const bench = {
  ...defaultBench,
  versionId,
  prompt: { column: 'question' },
  column: 'solution',
  from: 40,
  count: 2,
}
const rows = [{ question: 'a' }, { question: 'b' }]
const shown = { from: 40, rows, prompts: ['A', null], typed: {} }

describe('what a dry run is asked about', () => {
  test('rows with completions of a column', () => {
    expect(dryRunOn(bench, shown, emptyHandSample)).toEqual({
      on: {
        versionId,
        from: 40,
        count: 2,
        prompt: { column: 'question' },
        completions: { column: 'solution' },
      },
      rows: [40, 41],
    })
  })

  test('rows that a model completes', () => {
    const asked = dryRunOn(
      { ...bench, completions: 'model', model: 'starter', seed: 7 },
      shown,
      emptyHandSample,
    )
    expect(asked).toMatchObject({
      on: { model: 'starter', completions: { temperature: 1, maxNewTokens: 256, seed: 7 } },
    })
    expect(dryRunOn({ ...bench, completions: 'model' }, shown, emptyHandSample)).toHaveProperty('missing')
  })

  test('only rows beside which something was typed', () => {
    const typed = { ...bench, completions: 'typed' as const }
    expect(dryRunOn(typed, { ...shown, typed: { 41: 'x', 99: 'elsewhere' } }, emptyHandSample)).toEqual({
      on: [{ prompt: '', completion: 'x', row: { question: 'b' } }],
      rows: [41],
    })
    expect(dryRunOn(typed, shown, emptyHandSample)).toHaveProperty('missing')
  })

  test('a sample by hand', () => {
    const hand = { prompt: 'p', completion: 'c', row: '{"answer": 4}' }
    expect(dryRunOn({ ...bench, versionId: null }, shown, hand)).toEqual({
      on: [{ prompt: 'p', completion: 'c', row: { answer: 4 } }],
      rows: [null],
    })
    expect(dryRunOn({ ...bench, versionId: null }, shown, { ...hand, row: '[1]' })).toHaveProperty('missing')
  })

  test('nothing where no column holds text', () => {
    expect(dryRunOn({ ...bench, column: null }, shown, emptyHandSample)).toHaveProperty('missing')
  })
})

describe('what stands there where nobody chose', () => {
  test('the data set’s own answer, else a column of that name, else the last text', () => {
    expect(defaultColumn(columns, 'question')).toBe('question')
    expect(defaultColumn(columns, 'level')).toBe('solution')
    expect(defaultColumn([column('a', { text: 1 }), column('b', { text: 1 })], null)).toBe('b')
    expect(defaultColumn([column('n', { number: 1 })], null)).toBeNull()
  })

  test('the data set’s own prompt, else a column of that name', () => {
    expect(defaultPrompt(columns, { template: '{question}' })).toEqual({ template: '{question}' })
    expect(defaultPrompt(columns, null)).toEqual({ column: 'question' })
    expect(promptWords({ messages: [] })).toBe('Messages')
  })
})

test('rows as text', () => {
  expect(parseRow('')).toEqual({})
  expect(parseRow('{"a":')).toBeNull()
  expect(parseRow('null')).toBeNull()
  expect([cellText('x'), cellText(null), cellText([1]), cellText(undefined)]).toEqual([
    'x',
    'null',
    '[1]',
    '',
  ])
})

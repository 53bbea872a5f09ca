import { describe, expect, test } from 'vitest'
import {
  failureWords,
  loggedNames,
  partNames,
  placesOf,
  resultRows,
  summaryOf,
} from '#renderer/features/rewards/results.ts'
import { compareScores } from '#renderer/features/rewards/UsedByTab.tsx'
import type { DryRunItem, Score } from '#renderer/parts/rewardTypes.ts'

const progress = { phase: 'Scoring', done: 1, total: 3, unit: 'samples' } as const
const input = { prompt: 'p', completion: 'c', row: {} }

const score = (total: number | null, more: Partial<Score> = {}): Score => ({
  total,
  parts: { default: total },
  failures: {},
  columns: {},
  metrics: {},
  lines: [],
  durationMs: 2,
  ...more,
})
const item = (index: number, given: Score): DryRunItem => ({ progress, index, input, score: given })

const failure = { kind: 'exception', message: 'TypeError: no', line: 7, column: 3 } as const

describe('rows of a dry run', () => {
  test('stand in the order of the rows, the last word of each', () => {
    const rows = resultRows(
      [
        item(2, score(1)),
        item(0, score(0)),
        { progress, index: 1, problem: 'No prompt.' },
        item(0, score(0.5)),
      ],
      [10, 11, 12],
    )
    expect(rows.map(({ row, score: s, problem }) => [row, s?.total ?? problem])).toEqual([
      [10, 0.5],
      [11, 'No prompt.'],
      [12, 1],
    ])
  })

  test('name the function that failed and the line', () => {
    const rows = resultRows([item(0, score(null, { failures: { format: failure } }))], [null])
    expect(rows[0]?.failures).toEqual([{ part: 'format', ...failure }])
    expect(placesOf(rows)).toEqual([{ line: 7, column: 3, sentence: 'TypeError: no' }])
    expect(failureWords(failure)).toBe('Line 7: TypeError: no')
    expect(failureWords({ message: 'Out of memory', line: null })).toBe('Out of memory')
  })

  test('a failure without a line marks none', () => {
    const rows = resultRows([item(0, score(null, { failures: { a: { ...failure, line: null } } }))], [])
    expect(placesOf(rows)).toEqual([])
  })

  test('parts get columns only where there are several', () => {
    expect(partNames(resultRows([item(0, score(1))], []))).toEqual([])
    const two = resultRows([item(0, score(1, { parts: { format: 1, correct: null } }))], [])
    expect(partNames(two)).toEqual(['format', 'correct'])
    expect(loggedNames(resultRows([item(0, score(1, { columns: { found: 3 } }))], []))).toEqual(['found'])
  })

  test('are summed up without those that have no score', () => {
    const rows = resultRows(
      [
        item(0, score(1)),
        item(1, score(0)),
        item(2, score(null)),
        item(3, score(null, { failures: { default: failure } })),
        { progress, index: 4, problem: 'No prompt.' },
      ],
      [],
    )
    expect(summaryOf(rows)).toEqual({
      rows: 5,
      mean: 0.5,
      minimum: 0,
      maximum: 1,
      failed: 2,
      notScored: 1,
      meanMs: 2,
    })
    expect(summaryOf([])).toMatchObject({ mean: null, minimum: null, meanMs: null })
  })
})

describe('samples scored again', () => {
  const sample = (id: number, reward: number | null, parts: Record<string, number | null>) => ({
    id,
    runId: 'r',
    step: 1,
    source: 'rollout',
    row: 0,
    position: 0,
    prompt: '',
    completion: '',
    reward,
    parts,
    advantage: null,
    tokens: 1,
    stopReason: 'end',
    logged: {},
    failures: [],
    hasArrays: false,
  })
  const samples = [
    sample(1, 1, { sums: 1 }),
    sample(2, 0.7, { sums: 0.5, brevity: 0.2 }),
    sample(3, 0, { 'sums.a': 0, 'sums.b': 0 }),
    sample(4, 1, { sums: 1 }),
  ] as unknown as Parameters<typeof compareScores>[0]
  const scored = (sampleId: number, parts: Record<string, number | null>, error: string | null = null) => ({
    sampleId,
    version: 'v',
    parts,
    error,
  })

  test('are compared by the part that the reward was in its run', () => {
    const found = compareScores(
      samples,
      [
        scored(1, { default: 1 }),
        scored(2, { default: 0.5 }),
        scored(3, { a: 1, b: 1 }),
        scored(9, { a: 1 }),
      ],
      'sums',
    )
    expect(found).toMatchObject({ samples: 3, changed: 1, failed: 0, meanBefore: 0.5 })
    expect(found.meanAfter).toBeCloseTo(3.5 / 3)
    expect(found.changes.map(({ sample: { id }, before, after }) => [id, before, after])).toEqual([[3, 0, 2]])
  })

  test('what fails or applies no more stands first', () => {
    const found = compareScores(
      samples,
      [scored(1, { default: 0.9 }), scored(4, {}, 'boom'), scored(2, { default: null })],
      null,
    )
    expect(found.failed).toBe(1)
    expect(found.changed).toBe(2)
    expect(new Set(found.changes.slice(0, 2).map(({ sample: { id } }) => id))).toEqual(new Set([2, 4]))
  })
})

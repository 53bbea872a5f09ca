import { lastPart } from '#renderer/client/format.ts'
import { describe, expect, test } from 'vitest'
import { between, choicesOf, filterRuns, isFiltering, noFilter } from '#renderer/features/runs/filter.ts'
import { familyRows, flatRows } from '#renderer/features/runs/families.ts'

const run = (id: string, more: object = {}) => ({
  id,
  name: id,
  algorithm: 'grpo',
  model: '/models/starter',
  seed: 1,
  status: 'finished' as const,
  tags: [] as readonly string[],
  notes: '',
  createdAt: 0,
  parentRunId: null,
  ...more,
})

describe('filter', () => {
  const runs = [
    run('alpha', { tags: ['paper'], notes: 'too slow' }),
    run('beta', { algorithm: 'ppo', status: 'failed', seed: 7 }),
    run('gamma', { name: null }),
  ]
  const ids = (changes: Partial<typeof noFilter>) =>
    filterRuns(runs, { ...noFilter, ...changes }).map(({ id }) => id)

  test('all words, wherever they stand', () => {
    expect(ids({ text: 'SLOW paper' })).toEqual(['alpha'])
    expect(ids({ text: 'starter' })).toEqual(['alpha', 'beta', 'gamma'])
    expect(ids({ text: 'seed:7' })).toEqual(['beta'])
    expect(ids({ text: 'nothing' })).toEqual([])
  })

  test('a number is looked for in what people wrote, not in seeds, ids and longer numbers', () => {
    const bulk = Array.from({ length: 24 }, (_, i) =>
      run(`run_01a1-${String(i)}f1`, { name: `bulk ${String(i)}` }),
    )
    const found = (text: string) => filterRuns(bulk, { ...noFilter, text }).map(({ name }) => name)
    expect(found('bulk 2')).toEqual(['bulk 2', 'bulk 20', 'bulk 21', 'bulk 22', 'bulk 23'])
    expect(found('1 bulk')).toEqual(['bulk 1'])
    expect(found('bulk seed:1')).toHaveLength(24)
    expect(found('seed:11')).toEqual([])
    expect(found('id:-7f')).toEqual(['bulk 7'])
    expect(found('run_01A1-23')).toEqual(['bulk 23'])
  })

  test('the name of a run that has none is what the table shows', () => {
    expect(ids({ text: 'seed 1 · amma' })).toEqual(['gamma'])
  })

  test('status, method and tag', () => {
    expect(ids({ status: 'failed' })).toEqual(['beta'])
    expect(ids({ algorithm: 'grpo', tag: 'paper' })).toEqual(['alpha'])
    expect([isFiltering(noFilter), isFiltering({ ...noFilter, tag: 'x' })]).toEqual([false, true])
  })

  test('what there is to choose from', () => {
    expect(choicesOf(runs)).toEqual({ algorithms: ['grpo', 'ppo'], tags: ['paper'] })
  })

  test('the last part of a path', () => {
    expect(['/a/b/', 'C:\\a\\b', 'b', '/models/starter/'].map(lastPart)).toEqual(['b', 'b', 'b', 'starter'])
  })

  test('a range of rows, either way', () => {
    const order = ['a', 'b', 'c', 'd']
    expect(between(order, 'b', 'd')).toEqual(['b', 'c', 'd'])
    expect(between(order, 'd', 'b')).toEqual(['b', 'c', 'd'])
    expect(between(order, null, 'c')).toEqual(['c'])
    expect(between(order, 'gone', 'c')).toEqual(['c'])
  })
})

describe('families', () => {
  const runs = [
    run('late fork', { parentRunId: 'root', createdAt: 5 }),
    run('other', { createdAt: 4 }),
    run('grandchild', { parentRunId: 'early fork', createdAt: 3 }),
    run('early fork', { parentRunId: 'root', createdAt: 2 }),
    run('root', { createdAt: 1 }),
    run('orphan', { parentRunId: 'deleted', createdAt: 0 }),
  ]

  test('parents before their forks, forks by age', () => {
    expect(familyRows(runs).map(({ run: { id }, depth, forks }) => [id, depth, forks])).toEqual([
      ['other', 0, 0],
      ['root', 0, 2],
      ['early fork', 1, 1],
      ['grandchild', 2, 0],
      ['late fork', 1, 0],
      ['orphan', 0, 0],
    ])
  })

  test('as they come, with the number of their forks', () => {
    expect(flatRows(runs).map(({ run: { id }, forks }) => [id, forks])).toContainEqual(['root', 2])
    expect(flatRows(runs).every(({ depth }) => depth === 0)).toBe(true)
  })
})

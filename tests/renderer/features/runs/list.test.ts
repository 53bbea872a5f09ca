import { lastPart } from '#renderer/client/format.ts'
import { describe, expect, test } from 'vitest'
import { columnsOf, type Row, type RowState } from '#renderer/features/runs/columns.tsx'
import { between, choicesOf, filterRuns, isFiltering, noFilter } from '#renderer/parts/filter.ts'
import { seedFamilies } from '#shared/seedFamilies.ts'
import { familyRows, flatRows, seedRows } from '#renderer/features/runs/families.ts'

const run = (id: string, more: object = {}) => ({
  id,
  name: id,
  algorithm: 'grpo',
  algorithmTitle: 'GRPO',
  model: '/models/starter',
  seed: 1,
  status: 'finished' as const,
  studyId: null as string | null,
  tags: [] as readonly string[],
  notes: '',
  createdAt: 0,
  parentRunId: null,
  ...more,
})

describe('filter', () => {
  const runs = [
    run('alpha', { tags: ['paper'], notes: 'too slow' }),
    run('beta', { algorithm: 'ppo', algorithmTitle: 'PPO', status: 'failed', seed: 7, studyId: 'st_1' }),
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

  test('status, method, tag and study', () => {
    expect(ids({ status: 'failed' })).toEqual(['beta'])
    expect(ids({ algorithm: 'GRPO', tag: 'paper' })).toEqual(['alpha'])
    expect(ids({ study: 'st_1' })).toEqual(['beta'])
    const filters = [noFilter, { ...noFilter, tag: 'x' }, { ...noFilter, study: 'st_1' }]
    expect(filters.map(isFiltering)).toEqual([false, true, true])
  })

  test('what there is to choose from', () => {
    expect(choicesOf(runs)).toEqual({ algorithms: ['GRPO', 'PPO'], tags: ['paper'] })
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

describe('runs that differ in their seed only', () => {
  const seeded = (seed: number, more: object = {}) => ({
    ...run(`s${String(seed)}`, { name: `rates-${String(seed)}` }),
    seed,
    step: 10,
    reward: seed / 10,
    rewardAfter: null,
    parentCheckpointStep: null,
    studyId: null,
    ...more,
  })
  const runs = [seeded(1), seeded(8, { id: 'other' }), seeded(2), seeded(3, { step: 4 })]
  const families = [['s1', 's2', 's3']]
  const rows = (open: readonly string[], shown = runs) => seedRows(flatRows(shown), families, open)

  test('trials of a study are one row, and never one with runs of others', () => {
    const trial = (id: string, studyId: string, seed: number) =>
      seeded(seed, { id, studyId, name: `sweep · trial ${id}` })
    const all = [trial('a', 'one', 1), trial('b', 'two', 2), seeded(1), trial('c', 'one', 1), seeded(2)]
    const listed = rows([], all).map(({ run: { id }, seeds }) => [id, seeds?.studyId, seeds?.runIds])
    expect(listed).toEqual([
      ['a', 'one', ['a', 'c']],
      ['b', undefined, undefined],
      ['s1', null, ['s1', 's2']],
    ])
    expect(seedFamilies(all, () => 'same').map(({ runIds }) => runIds)).toEqual([['s1', 's2']])
  })

  test('are one row, with the mean of those that got furthest', () => {
    const [family, other, ...rest] = rows([])
    expect(family?.seeds).toMatchObject({
      name: 'rates',
      runIds: ['s1', 's2', 's3'],
      count: 2,
      isOpen: false,
    })
    expect(family?.seeds?.reward?.value).toBeCloseTo(0.15)
    expect(family?.seeds?.reward?.interval).not.toBeNull()
    expect(other).toEqual({ run: runs[1], depth: 0, forks: 0 })
    expect(rest).toEqual([])
  })

  test('stand under it where it is open', () => {
    const [head, ...others] = rows(['s2'])
    expect(head?.seeds?.isOpen).toBe(true)
    expect(others.map(({ run, under }) => [run.id, under === head])).toEqual([
      ['s1', true],
      ['s2', true],
      ['s3', true],
      ['other', false],
    ])
  })

  test('a filter that leaves one of them leaves a run', () => {
    expect(rows([], runs.slice(1, 3)).map(({ run, seeds }) => [run.id, seeds])).toEqual([
      ['other', undefined],
      ['s2', undefined],
    ])
  })

  test('sort by their mean, and stay under it', () => {
    const state = { pinned: new Set<string>() } as unknown as RowState
    const column = (id: string) =>
      columnsOf(['reward'], state, { isDescending: true }).find((each) => each.id === id)!
    const values = (rows(['s1']) as unknown as readonly Row[]).map((row) => column('reward').sortBy?.(row))
    expect(values.slice(0, 4)).toEqual(Array(4).fill(expect.closeTo(0.15)))
    expect(values[4]).toBe(0.8)
  })
})

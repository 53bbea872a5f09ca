import { expect, test } from 'vitest'
import type { RunEntry } from '#renderer/client/runs.ts'
import { rowOf, trainedItem, trainedRows } from '#renderer/parts/trainedRows.tsx'

const run = (id: string, change: Partial<RunEntry> = {}): RunEntry =>
  ({
    id,
    name: id,
    algorithmTitle: 'GRPO',
    step: 9,
    studyId: null,
    trial: null,
    rewardAfter: null,
    ...change,
  }) as RunEntry

const runs = [
  run('own'),
  run('sweep · trial 2', { studyId: 'st_1', trial: 1, rewardAfter: 0.4 }),
  run('sweep · trial 1', { studyId: 'st_1', trial: 0, rewardAfter: 0.9 }),
  run('population · member 1', { studyId: 'st_2', trial: 0, rewardAfter: 0.7 }),
  run('of a deleted study', { studyId: 'st_gone', trial: 0 }),
]

test('a study is one row that stands for its best trial, and never takes runs of another', () => {
  const rows = trainedRows(runs, new Map([['st_1', 'Sweep'], ['st_2', 'Population']])) // prettier-ignore
  expect(rows.map(({ title, run: { id }, runs: all }) => [title, id, all.length])).toEqual([
    ['own', 'own', 1],
    ['Sweep', 'sweep · trial 1', 2],
    ['Population', 'population · member 1', 1],
    ['of a deleted study', 'of a deleted study', 1],
  ])
  expect(rowOf(rows, 'sweep · trial 2')?.title).toBe('Sweep')
  expect(rows.map((row) => trainedItem(row).detail)).toEqual([
    'GRPO · step 9',
    '2 trials · best eval reward 0.900',
    'GRPO · step 9 · eval reward 0.700',
    'GRPO · step 9',
  ])
})

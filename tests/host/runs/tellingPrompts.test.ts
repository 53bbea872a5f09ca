import { expect, test } from 'vitest'
import { chooseRows } from '#host/runs/tellingPrompts.ts'
import type { SampleRecord } from '#host/store/samples.ts'

const sample = (row: number, completion: string, reward: number): SampleRecord => ({
  id: row,
  runId: 'run',
  step: 0,
  source: 'evaluation',
  row,
  position: row,
  prompt: '',
  parts: {},
  completion,
  reward,
  advantage: null,
  tokens: 1,
  stopReason: 'stop-id',
  version: null,
  logged: {},
  failures: [],
  hasArrays: false,
})

test('shown are rows that the base fails in substance too, and one that still fails', () => {
  const pairs = [
    [sample(0, 'The answer is 87.', 0), sample(0, '77', 0.2)],
    [sample(1, 'The answer is 67.', 0), sample(1, '67', 1)], // right in other words
    [sample(2, '9 8 7', 0.2), sample(2, '5 2 0 7', 1)],
    [sample(3, 'The answer is 5.', 0), sample(3, '4', 1)],
    [sample(4, '12', 1), sample(4, '12', 1)],
  ] as const
  const { learned, failing } = chooseRows(pairs)
  expect(learned.map(({ row }) => row)).toEqual([3, 2])
  expect(failing?.row).toBe(0)
})

test('where nothing was learned, nothing is said to be', () => {
  expect(chooseRows([])).toEqual({ learned: [], failing: null })
  const same = [sample(0, 'a', 1), sample(0, 'a', 1)] as const
  expect(chooseRows([same])).toEqual({ learned: [], failing: null })
})

import { expect, test } from 'vitest'
import { attentionMask, paddedRows, positionIds, unpaddedCompletionMask } from './padding.ts'
import { promptBudget } from '#rl/training/rollOut.ts'

test('rows are filled up on the right to the longest', () => {
  expect(paddedRows([[1], Int32Array.of(2, 3, 4), []], 9)).toEqual([
    [1, 9, 9],
    [2, 3, 4],
    [9, 9, 9],
  ])
  expect(paddedRows([], 0)).toEqual([])
})

test('only the padding at the end is not attended to', () => {
  const mask = attentionMask([5, 2, 7, 2, 2], 2)
  expect([...mask]).toEqual([1, 1, 1, 0, 0])
  expect([...positionIds(mask)]).toEqual([0, 1, 2, 1, 1])
  expect([...attentionMask([2, 2], 2)]).toEqual([0, 0])
})

test('an action is a generated id that is not the padding', () => {
  expect([...unpaddedCompletionMask([2, 5, 6, 2, 7, 2], 2, 2)]).toEqual([0, 1, 0, 1, 0])
})

test('a prompt leaves room for the completion, or for one token', () => {
  expect([promptBudget(100, 30), promptBudget(100, null), promptBudget(10, 99), promptBudget(10, 0)]).toEqual(
    [70, 99, 0, 9],
  )
})

import { expect, test } from 'vitest'
import { sessionTrajectories } from '#host/agents/sessionTrajectories.ts'

const call = (promptIds: readonly number[], ids: readonly number[], reward: number | null = null) => ({
  promptIds,
  ids,
  reward,
})

test('a conversation is one trajectory, whose actions are what was generated', () => {
  const calls = [call([1, 2], [3, 4]), call([1, 2, 3, 4, 5], [6]), call([1, 2, 3, 4, 5, 6, 7, 8], [9, 9])]
  expect(sessionTrajectories(calls)).toEqual([
    {
      ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 9],
      actions: [
        [2, 4],
        [5, 6],
        [8, 10],
      ],
    },
  ])
})

test('branches are trajectories of their own, and every call is learned from once', () => {
  const first = call([1], [2, 3], 0.5)
  const calls = [first, call([1, 2, 3, 4], [5], 1), call([1, 2, 3, 6], [7]), call([8], [9])]
  expect(sessionTrajectories(calls)).toEqual([
    {
      ids: [1, 2, 3, 4, 5],
      actions: [
        [1, 3],
        [4, 5],
      ],
      turnRewards: [0.5, 1],
    },
    { ids: [1, 2, 3, 6, 7], actions: [[4, 5]] },
    { ids: [8, 9], actions: [[1, 2]] },
  ])
})

test('a retry is a branch; calls with nothing between them are one turn; an empty answer is none', () => {
  const calls = [call([1], [2], 1), call([1], [2], 2), call([1, 2], [3], 4), call([1], [])]
  expect(sessionTrajectories(calls)).toEqual([
    { ids: [1, 2], actions: [[1, 2]], turnRewards: [1] },
    { ids: [1, 2, 3], actions: [[1, 3]], turnRewards: [6] },
  ])
  expect(sessionTrajectories([])).toEqual([])
})

import { expect, test } from 'vitest'
import { scoredBefore } from '#renderer/features/run/CheckpointsTab.tsx'

test('a checkpoint is compared with the last one before it that was scored', () => {
  const checkpoints = [
    { step: 10, reward: 0.839 },
    { step: 20, reward: 0.84 },
    { step: 25, reward: null },
    { step: 30, reward: 0.877 },
  ]
  const before = (step: number) => scoredBefore(checkpoints, step, ({ reward }) => reward)
  expect(before(30)).toEqual({ step: 20, score: 0.84 })
  expect(before(20)).toEqual({ step: 10, score: 0.839 })
  expect(before(10)).toBeNull()
})

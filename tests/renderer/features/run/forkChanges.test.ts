import { expect, test } from 'vitest'
import { lengthChange, memoryProposals } from '#renderer/features/run/forkChanges.ts'

test('a fork from the end gets as many steps again', () => {
  expect(lengthChange({ steps: 30, stages: 0 }, 30)).toEqual({ steps: 60 })
  expect(lengthChange({ steps: 30, stages: 0 }, 20)).toEqual({})
  expect(lengthChange({ steps: null, stages: 0 }, 20)).toEqual({})
  expect(lengthChange({ steps: 30, stages: 2 }, 30)).toEqual({})
})

test('less memory: what leaves the result alone comes first, what is spent is not proposed again', () => {
  const settings = {
    optimization: { tokenBudget: 512, memory: 'auto' },
    rollout: { maxNewTokens: 64, groupSize: 8 },
  } as const
  expect(memoryProposals(settings).map(({ changes }) => changes)).toEqual([
    { 'optimization.memory': 'recompute' },
    { 'optimization.tokenBudget': 256 },
    { 'rollout.maxNewTokens': 32 },
    { 'rollout.groupSize': 4 },
  ])
  const unsaid = memoryProposals({ ...settings, optimization: { tokenBudget: null, memory: 'recompute' } })
  expect(unsaid[0]).toMatchObject({
    words: 'Learn from 256 tokens at once instead of as many as are fastest.',
    changes: { 'optimization.tokenBudget': 256 },
  })
  const spent = {
    optimization: { tokenBudget: 64, memory: 'recompute' },
    rollout: { maxNewTokens: 1, groupSize: 2 },
  } as const
  expect(memoryProposals(spent)).toEqual([])
})

import { describe, expect, test } from 'vitest'
import {
  changedConfig,
  lengthChange,
  memoryProposals,
  parseValue,
  shownChanges,
} from '#renderer/features/run/forkChanges.ts'

const parse = (text: string, value: unknown, options: readonly string[] | null = null) =>
  parseValue(text, { value, options })

describe('parseValue', () => {
  test.each([
    ['1e-4', 0.1, 1e-4],
    ['0,5', 0.1, 0.5],
    ['.5', 0.1, 0.5],
    ['null', 3, null],
    ['true', false, true],
    ['["q","v"]', 'all-linear', '["q","v"]'],
    ['["q","v"]', [], ['q', 'v']],
    ['2024', 'run name', '2024'],
    [' words of a name ', 'x', 'words of a name'],
    ['1e', 0.1, '1e'],
  ])('%s', (text, before, value) => expect(parse(text, before)).toEqual(value))

  test('a word that may be chosen is that word', () => {
    expect(parse('null', 'zero', ['null', 'zero', 'fail'])).toBe('null')
    expect(parse('false', true, ['true', 'false'])).toBe(false)
  })
})

test('only what changes something is shown', () => {
  const rows = [{ path: 'steps', value: 30, usual: null, isChanged: true, description: '', options: null }]
  expect(shownChanges(rows, { steps: 30 })).toEqual([])
  expect(shownChanges(rows, { steps: 60, seed: 1 })).toEqual([
    { path: 'steps', before: 30, after: 60 },
    { path: 'seed', before: undefined, after: 1 },
  ])
})

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

test('changes are put into a config without touching it', () => {
  const config = { rollout: { groupSize: 8, topK: 0 }, seed: 1 }
  expect(changedConfig(config, { 'rollout.groupSize': 4, steps: 2 })).toEqual({
    rollout: { groupSize: 4, topK: 0 },
    seed: 1,
    steps: 2,
  })
  expect(config.rollout.groupSize).toBe(8)
})

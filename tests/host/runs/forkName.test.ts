import { expect, test } from 'vitest'
import { forkName } from '#host/runs/runLifecycle.ts'

const named = (changes: Record<string, unknown>, base = 'sums', taken: string[] = []) =>
  forkName({ base, step: 8, changes, taken: new Set(taken) })

test('a fork is named by what differs, else by where it begins', () => {
  expect(named({ 'optimization.learningRate': 0.001 })).toBe('sums · learning rate 0.001')
  expect(named({ 'optimization.learningRate': 0.001, steps: 40 })).toBe('sums · learning rate 0.001')
  expect(named({ steps: 40 })).toBe('sums · from step 8')
  expect(named({})).toBe('sums · from step 8')
  expect(named({ seed: 1, 'rollout.temperature': 0.8, 'rollout.groupSize': 4 })).toBe(
    'sums · seed 1 · temperature 0.8 · 1 more',
  )
})

test('no two are called the same, and a fork of a fork does not repeat itself', () => {
  expect(named({}, 'sums', ['sums · from step 8'])).toBe('sums · from step 8 (2)')
  expect(named({}, 'sums', ['sums · from step 8', 'sums · from step 8 (2)'])).toBe('sums · from step 8 (3)')
  expect(named({ 'optimization.learningRate': 0.0005 }, 'sums · learning rate 0.001')).toBe(
    'sums · learning rate 0.0005',
  )
  expect(named({}, 'sums · learning rate 0.001 · from step 4')).toBe(
    'sums · learning rate 0.001 · from step 8',
  )
})

import { expect, test } from 'vitest'
import type { SettingChange } from '#shared/config/changes.ts'
import { configButSeed, seedFamilies, sharedBeginning } from '#shared/seedFamilies.ts'
import { meanEstimate } from '#shared/statistics.ts'

const run = (seed: number, changes: object = {}) => ({
  id: `run_${String(seed)}`,
  name: `rates seed ${String(seed)}`,
  seed,
  step: 10,
  reward: seed / 10,
  rewardAfter: null,
  parentRunId: null,
  parentCheckpointStep: null,
  studyId: null,
  rate: 0.1,
  settingChanges: [] as SettingChange[],
  ...changes,
})
type Run = ReturnType<typeof run>

const recordOf = ({ seed, name, rate, settingChanges }: Run) => ({
  config: JSON.stringify({ name, seed, optimization: { learningRate: rate } }),
  settingChanges,
})

const families = (...runs: Run[]) => seedFamilies(runs, (each) => configButSeed(recordOf(each)))

test('runs that differ in seed and name alone are one family, with mean and interval over their seeds', () => {
  const [family, ...others] = families(run(1), run(2), run(3), run(4, { rate: 0.2 }))
  expect(others).toEqual([])
  expect(family).toMatchObject({ name: 'rates', seeds: [1, 2, 3], count: 3, step: 10, rewardAfter: null })
  expect(family?.reward).toEqual(meanEstimate([0.1, 0.2, 0.3]))
})

test('a run whose settings were changed is of the family of those changed alike', () => {
  const changed = { settingChanges: [{ step: 5, key: 'steps', from: 10, to: 20 }] }
  expect(families(run(1), run(2, changed))).toEqual([])
  expect(families(run(1, changed), run(2, changed))).toHaveLength(1)
})

test('one seed twice is no family; forks are one where they begin at the same checkpoint', () => {
  expect(families(run(1), run(1, { id: 'other' }))).toEqual([])
  const fork = { parentRunId: 'run_1', parentCheckpointStep: 5 }
  expect(families(run(1), run(2, fork))).toEqual([])
  expect(families(run(2, fork), run(3, fork))).toHaveLength(1)
})

test('means are over those that got furthest, of values that there are', () => {
  const [family] = families(run(1), run(2, { step: 4 }), run(3, { reward: null }))
  expect(family).toMatchObject({ count: 2, seeds: [1, 2, 3], reward: { value: 0.1, interval: null } })
})

test('the name is what the names begin with', () => {
  expect(sharedBeginning(['rates · trial 1', 'rates · trial 2'])).toBe('rates')
  expect(sharedBeginning(['arith-grpo-1', 'arith-grpo-2'])).toBe('arith-grpo')
  expect(sharedBeginning(['a', 'b'])).toBe('')
})

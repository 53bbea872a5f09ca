import { expect, test } from 'vitest'
import { startingFrom } from '#renderer/features/newRun/chosenRows.ts'
import { startWords } from '#renderer/features/newRun/summaries.ts'

const adapter = { rank: 8, alpha: 4, rsLora: true, targets: ['q'], dropout: 0.1 }

test('a start adapter brings its own form', () => {
  expect(startingFrom({ model: 'm', adapter }, '/a')).toEqual({
    model: 'm',
    adapter: { dropout: 0.1, initial: '/a' },
  })
  expect(startingFrom({ model: 'm' }, '/a')).toEqual({ model: 'm', adapter: { initial: '/a' } })
})

test('what is to be merged stays; so does everything where it begins fresh', () => {
  const merging = { adapter: { ...adapter, mergeConfigs: true } }
  expect(startingFrom(merging, '/a')).toEqual({ adapter: { ...merging.adapter, initial: '/a' } })
  expect(startingFrom({ adapter: { ...adapter, initial: '/a' } }, undefined)).toEqual({ adapter })
})

test('the folded step says what is gone on with', () => {
  const known = {
    models: [{ name: 'mine', directory: '/models/mine' }],
    dataSets: [],
    rewards: [],
    algorithms: [],
  }
  expect(startWords({ model: '/models/mine' }, known)).toBe('mine')
  expect(startWords({ model: 'mine', adapter: { initial: '/runs/r/checkpoints/step-000004' } }, known)).toBe(
    'mine · continues step-000004',
  )
  expect(startWords({ adapter: { initial: '/a' } }, known)).toBe(null)
})

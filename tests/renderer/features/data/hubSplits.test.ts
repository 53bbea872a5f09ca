import { expect, test } from 'vitest'
import { chosenSplit } from '#renderer/features/data/DataScreen.tsx'

const split = (name: string) => ({ name, files: 1, sizeBytes: 1 })
const configs = [
  { name: 'main', splits: [split('test'), split('train')] },
  { name: 'extra', splits: [split('heldout')] },
]
const names = (...given: Parameters<typeof chosenSplit>) => {
  const chosen = chosenSplit(...given)
  return chosen === null ? null : `${chosen.config.name}/${chosen.split.name}`
}

test('the part that is meant', () => {
  expect(names(configs, {})).toBe('main/train')
  expect(names(configs, { split: 'test' })).toBe('main/test')
  expect(names(configs, { config: 'extra', split: 'train' })).toBe('extra/heldout')
  expect(names(configs, { config: 'gone' })).toBe('main/train')
  expect(names([], {})).toBe(null)
})

import { describe, expect, test } from 'vitest'
import { algorithmEntries } from '../../algorithmEntries.ts'
import { withModel, withRoom } from '#renderer/features/newRun/chosenRows.ts'
import { valueAt, withValue } from '#shared/config/paths.ts'
import { fittingNewTokens, defaultNewTokens } from '#shared/config/settings.ts'

const models = [
  { name: 'little', directory: '/models/little', parameters: 2e6, contextLength: 128 },
  { name: 'large', directory: '/models/large', parameters: 1e9, contextLength: 32_768 },
]
const choices = { models, algorithms: algorithmEntries }
const lengthOf = (config: object) => valueAt(config, 'rollout.maxNewTokens')

describe('a chosen model', () => {
  test('comes with a length of completions that leaves its prompts room', () => {
    expect(lengthOf(withModel({}, 'little', choices))).toBe(32)
    expect(lengthOf(withModel({}, '/models/little', choices))).toBe(32)
  })

  test('changes the usual length even where other settings were made by hand, but none that was chosen', () => {
    const byHand = { optimization: { learningRate: 0.003 } }
    expect(lengthOf(withModel(byHand, 'little', choices))).toBe(32)
    expect(lengthOf(withModel(byHand, 'large', choices))).toBeUndefined()
    expect(lengthOf(withModel(withValue(byHand, 'rollout.maxNewTokens', 100), 'little', choices))).toBe(100)
  })

  test('begins with an adapter of its own', () => {
    expect(withModel({ adapter: { initial: '/adapters/of-another' } }, 'large', choices)).not.toHaveProperty(
      'adapter.initial',
    )
  })
})

test('of a model that nothing is known of the usual length stays', () => {
  expect(withRoom({}, null)).toEqual({})
  expect(fittingNewTokens(100_000)).toBe(defaultNewTokens)
  expect(fittingNewTokens(2)).toBe(1)
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { algorithms } from '#rl/algorithms/registry.ts'
import { algorithmFields } from '#renderer/features/newRun/algorithmFields.ts'
import { labelOf, sentenceParts } from '#renderer/features/newRun/fieldWords.ts'
import { sectionsOf } from '#renderer/features/newRun/fields.ts'
import { runConfigSchema } from '#shared/runConfig.ts'

const sections = sectionsOf(z.toJSONSchema(runConfigSchema, { io: 'input' }))

describe('what settings are called', () => {
  test.each([...algorithms.values()])('$id: no two settings of a run have one label', (algorithm) => {
    const own = algorithmFields(algorithm).map(({ key }) => key)
    const keys = [...sections.flatMap(({ fields }) => fields.map(({ key }) => key)), ...own]
    const byLabel = Map.groupBy(keys, labelOf)
    expect([...byLabel].filter(([, sharing]) => sharing.length > 1)).toEqual([])
  })

  test('entries of lists say which one they are of', () => {
    expect(labelOf('rewards.correct.weight')).toBe('Reward correct: Weight')
    expect(labelOf('rewards[0].weight')).toBe('Reward 1: Weight')
    expect(labelOf('stages[1].optimization.learningRate')).toBe('Stage 2: Learning rate')
    expect(labelOf('stages.1.rollout.maxNewTokens')).toBe('Stage 1: Max new tokens')
  })
})

describe('settings in sentences of the host', () => {
  const told = (sentence: string) =>
    sentenceParts(sentence)
      .map(({ text, isKey }) => (isKey ? `[${labelOf(text)}]` : text))
      .join('')

  test('are called as in the form', () => {
    expect(told('raise rollout.maxNewTokens, or ask for shorter answers.')).toBe(
      'raise [Max new tokens], or ask for shorter answers.',
    )
    expect(told('lower optimization.tokenBudget or rollout.groupSize.')).toBe(
      'lower [Token budget] or [Group size].',
    )
    expect(told('algorithm.settings.klCoefficient is 0.')).toBe('[KL coefficient (β)] is 0.')
  })

  test('words that are no keys stay', () => {
    const plain = 'The data. It was read from /tmp/data.jsonl and mydata.train in 3.5 s.'
    expect(told(plain)).toBe(plain)
    expect(told('')).toBe('')
  })
})

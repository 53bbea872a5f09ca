import { expect, test } from 'vitest'
import { partWords, rewardTerms, scoreChange } from '#renderer/features/samples/EditedCopy.tsx'

const weights = new Map([
  ['correct', 0.8],
  ['format', 0.2],
])

test('terms stand in the order of the settings, with what each adds to the sum', () => {
  expect(rewardTerms({ extra: 2, format: null, correct: 1 }, weights)).toEqual([
    { name: 'correct', value: 1, weight: 0.8, share: 0.8 },
    { name: 'format', value: null, weight: 0.2, share: null },
    { name: 'extra', value: 2, weight: null, share: null },
  ])
})

test('an edit is judged by the sum and by the parts that changed', () => {
  const change = scoreChange(
    { reward: 1, parts: { correct: 1, format: 1, length: 0.3 } },
    { reward: 0.1, parts: { correct: 0, format: 0.5, length: 0.1 + 0.2 } },
  )
  expect(change.delta).toBeCloseTo(-0.9)
  expect(change.parts.map((part) => partWords(part, String))).toEqual(['correct lost', 'format 1 → 0.5'])
})

test('rounding is no change, a reward that is gone is one', () => {
  expect(scoreChange({ reward: 0.3, parts: {} }, { reward: 0.1 + 0.2, parts: {} })).toEqual({
    delta: 0,
    parts: [],
  })
  const gone = scoreChange({ reward: 1, parts: { a: 1 } }, { reward: null, parts: { a: null } })
  expect(gone).toEqual({ delta: null, parts: [{ name: 'a', before: 1, after: null }] })
})

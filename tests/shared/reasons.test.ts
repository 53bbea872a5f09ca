import { expect, test } from 'vitest'
import { reasonWords } from '#shared/reasons.ts'

test.each([
  ['one reason is said as it is', ['Stopped.', 'Stopped.'], 'Stopped.'],
  ['of several it is said how often', ['Stopped.', 'Not run.', 'Not run.'], '2 × Not run; 1 × Stopped.'],
  ['of many the most frequent', ['a', 'b', 'c', 'd', 'e', 'd'], '2 × d; 1 × a; 1 × b; 2 × something else.'],
  ['nothing is nothing', [], ''],
])('%s', (_, messages, words) => {
  expect(reasonWords(messages)).toBe(words)
})

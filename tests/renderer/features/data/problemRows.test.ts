import { expect, test } from 'vitest'
import { sharedSentence } from '#renderer/features/data/VersionPage.tsx'

test('what is wrong with every row alike is said once', () => {
  const row = (number: number, sentence: string) => ({ number, line: number + 1, sentence })
  expect(sharedSentence([row(1, 'no UTF-8'), row(2, 'no UTF-8')])).toBe('no UTF-8')
  expect(sharedSentence([row(1, 'no UTF-8'), row(2, 'no JSON')])).toBeNull()
  expect(sharedSentence([])).toBeNull()
})

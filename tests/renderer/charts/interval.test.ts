import { expect, test } from 'vitest'
import { intervalWords } from '#renderer/charts/IntervalBar.tsx'
import { formatPercent } from '#renderer/client/format.ts'

test('an interval reads as the value beside it does', () => {
  const estimate = { value: 0.45, interval: { low: 0.307, high: 0.602 } }
  expect(intervalWords(estimate)).toBe('0.307 to 0.602')
  expect(intervalWords(estimate, formatPercent)).toBe('30.7 % to 60.2 %')
})

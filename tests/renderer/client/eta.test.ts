import { expect, test } from 'vitest'
import { etaWords } from '#renderer/client/live.ts'

test.each([
  [20_000, 20_000, '20 s'],
  [110_000, 170_000, '1–3 min'],
  [3_000_000, 8_000_000, '1–3 h'],
  [100, 400, '1 s'],
])('%d to %d ms reads %s', (lowMs, highMs, words) => {
  expect(etaWords({ lowMs, highMs })).toBe(words)
})

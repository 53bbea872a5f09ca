import { expect, test } from 'vitest'
import { columnAtWork, completions } from '#renderer/parts/candidates.ts'

const piece = (candidate: number, text: string, stopReason: 'stop-id' | null = null) => ({
  candidate,
  sample: 0,
  text,
  tokens: text.length,
  tokensPerSecond: null,
  stopReason,
})

test('columns are written from left to right, whoever stands in them', () => {
  const order = [2, 0, 1]
  const begun = completions([piece(0, 'ab')], order)
  expect(begun.map(({ text }) => text)).toEqual(['', '', 'ab'])
  expect(columnAtWork(begun, order)).toBe(0)
  const later = completions([piece(0, 'ab'), piece(0, 'c', 'stop-id'), piece(1, 'x')], order)
  expect(later.map(({ text }) => text)).toEqual(['x', '', 'abc'])
  expect(columnAtWork(later, order)).toBe(1)
  const all = completions(
    [piece(0, '', 'stop-id'), piece(1, 'x', 'stop-id'), piece(2, 'y', 'stop-id')],
    order,
  )
  expect(columnAtWork(all, order)).toBeNull()
})

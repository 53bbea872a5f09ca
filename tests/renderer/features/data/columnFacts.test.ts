import { expect, test } from 'vitest'
import { cellText, columnFacts, columnWords, messagesOf } from '#renderer/parts/columnFacts.ts'

test('a column is what all its values are', () => {
  const rows = [
    { text: 'a', mixed: 'a', chat: [{ role: 'user', content: 'x' }], gap: null },
    { text: 'b', mixed: 1, chat: [], gap: undefined },
  ]
  expect(columnFacts(['text', 'mixed', 'chat', 'gap', 'nowhere'], rows).map(({ kind }) => kind)).toEqual([
    'text',
    'object',
    'chat',
    'empty',
    'empty',
  ])
})

test('a column in words says what may be wrong with it', () => {
  const column = {
    name: 'q',
    kinds: { text: 90, null: 4 },
    missing: 6,
    unique: 88,
    length: { min: 3, mean: 10, max: 120 },
    value: null,
  }
  expect(columnWords(column)).toBe('text · 3–120 characters · 88 different · 10 missing')
  const digit = { ...column, missing: 0, kinds: { text: 9 }, length: { min: 1, mean: 1, max: 1 } }
  expect(columnWords(digit)).toBe('text · 1 character · 88 different')
})

test('a cell is one line', () => {
  expect(cellText('one\n  two')).toBe('one ⏎ two')
  expect(cellText([{ from: 'human', value: 'hi' }])).toBe('1 message: hi')
  const chat = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is 1 + 2?' },
  ]
  expect(cellText(chat)).toBe('2 messages: What is 1 + 2?')
  expect(cellText(chat.slice(0, 1))).toBe('1 message: Be brief.')
  expect(cellText({ a: 1 })).toBe('{"a":1}')
  expect(cellText(null)).toBe('')
})

test('messages are read in every spelling, also out of JSON text', () => {
  expect(messagesOf([{ from: 'gpt', value: 'yes' }])).toEqual([{ role: 'assistant', content: 'yes' }])
  expect(messagesOf('[{"role": "user", "content": "hi"}]')).toEqual([{ role: 'user', content: 'hi' }])
  expect(messagesOf([{ role: 'assistant', content: null }])).toEqual([])
  expect(messagesOf('text')).toEqual([])
})

import { expect, test } from 'vitest'
import { shellWord, terminalText } from '#shared/shownText.ts'

test('text for a terminal keeps its lines and letters, and moves nothing', () => {
  expect(terminalText('a\u001b[2Kb\rc\u202Ed')).toBe('a\\u{1b}[2Kb\\u{d}c\\u{202e}d')
  expect(terminalText('one\n\ttwo 👩‍🚀 é مرحبا')).toBe('one\n\ttwo 👩‍🚀 é مرحبا')
})

test('a word for a shell is one word', () => {
  expect(shellWord('owner/model-1.5')).toBe('owner/model-1.5')
  expect(shellWord("m; touch 'x' #")).toBe("'m; touch '\\''x'\\'' #'")
})

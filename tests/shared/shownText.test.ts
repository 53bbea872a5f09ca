import { expect, test } from 'vitest'
import { shellWord, shownText, terminalText } from '#shared/shownText.ts'

test('text for a terminal keeps its lines and letters, and moves nothing', () => {
  expect(terminalText('a\u001b[2Kb\rc\u202Ed')).toBe('a\\u{1b}[2Kb\\u{d}c\\u{202e}d')
  expect(terminalText('one\n\ttwo 👩‍🚀 é مرحبا')).toBe('one\n\ttwo 👩‍🚀 é مرحبا')
})

test.each(['\u3164', '\u115f', '\uffa0', '\u034f', '\ufe0f', '\u{e0100}', '\u2800', '\u200b', '\u00a0'])(
  'a name with something that cannot be seen is not that without it: %j',
  (hidden) => {
    const code = `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`
    expect(shownText(`rewards${hidden}.py`)).toBe(`rewards${code}.py`)
  },
)

test('a name keeps its letters and its spaces, of which a hundred push nothing out of sight', () => {
  expect(shownText('/मेरा काम/e\u0301t\u00e9  2 한글.py')).toBe('/मेरा काम/e\u0301t\u00e9  2 한글.py')
  expect(shownText(`a${' '.repeat(100)}b`)).toBe(`a${' '.repeat(20)}${'\\u{20}'.repeat(80)}b`)
})

test('a word for a shell is one word', () => {
  expect(shellWord('owner/model-1.5')).toBe('owner/model-1.5')
  expect(shellWord("m; touch 'x' #")).toBe("'m; touch '\\''x'\\'' #'")
})

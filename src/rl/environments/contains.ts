import { defineReward, expectedText, normalized } from './common.ts'

/** 1 when the expected answer stands somewhere in the completion as whole words: 4 is not contained in 42. */
export const contains = defineReward({
  id: 'contains',
  description: '1 if the answer of the row appears in the completion as whole words, else 0.',
  settings: { column: 'answer', ignoreCase: true },
  create:
    ({ column, ignoreCase }) =>
    ({ completion, row }) => {
      const expected = expectedText(row, column)
      if (expected === null || expected === '') return null
      return holdsWords(normalized(completion, ignoreCase), normalized(expected, ignoreCase)) ? 1 : 0
    },
})

const wordCharacter = /[\p{L}\p{N}_]/u

function holdsWords(text: string, words: string): boolean {
  const breaksWord = (inside: string, outside: string) =>
    wordCharacter.test(inside) && wordCharacter.test(outside)
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const after = at + words.length
    if (breaksWord(words.at(0) ?? '', text.charAt(at - 1))) continue
    if (breaksWord(words.at(-1) ?? '', text.charAt(after))) continue
    return true
  }
  return false
}

import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { CompletionText, tokenText } from '#host/models/completionText.ts'

const tokenizers = path.resolve(import.meta.dirname, '../../fixtures/tokenizers')
const text = 'One, two – naïve 東京 👩‍🚀. Stop here! And on.'

describe.each(['llama3', 'llama2', 'qwen2'])('%s', (name) => {
  const { tokenizer } = loadTokenizer(path.join(tokenizers, name))
  const ids = [...tokenizer.encode(text, { addSpecialTokens: false })]
  const whole = tokenizer.decode(ids, { skipSpecialTokens: true })

  test.each([[[]], [['Stop']], [['here!', '!']], [['never', 'on.x', '東']], [[' ']]])(
    'the pieces are the text before the first of %j, and none shows a part of it',
    (stops) => {
      const completion = new CompletionText(tokenizer, stops)
      const ends = stops.map((stop) => whole.indexOf(stop)).filter((at) => at >= 0)
      const expected = whole.slice(0, Math.min(whole.length, ...ends))
      let shown = ''
      for (const id of ids) {
        shown += completion.push(id)
        expect(expected.startsWith(shown)).toBe(true)
      }
      expect(shown + completion.finish()).toBe(expected)
    },
  )

  test('tokens have the text that they add', () => {
    const plain = [...tokenizer.encode('One, two. Stop here! And on.', { addSpecialTokens: false })]
    const parts = plain.map((id, i) => tokenText(tokenizer, plain.slice(0, i), id))
    expect(parts.join('')).toBe(tokenizer.decode(plain, { skipSpecialTokens: false }))
    // Alone, some decoders take the space before a word away.
    expect(parts.some((part) => part.startsWith(' '))).toBe(true)
  })
})

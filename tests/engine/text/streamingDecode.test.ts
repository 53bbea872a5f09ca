import { describe, expect, test } from 'vitest'
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import { createTokenizer } from '#engine/text/tokenizer.ts'
import { smallTokenizerConfig, smallTokenizerJson } from './fixtures.ts'

const tokenizer = createTokenizer({
  tokenizerJson: smallTokenizerJson(),
  tokenizerConfig: smallTokenizerConfig,
  where: 'tokenizer.json',
})
const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
const options = { skipSpecialTokens: true }

describe('createStreamingDecoder', () => {
  test.each(['the cat 👩‍🔬 sat', '東京タワー', 'a👍🏽b', 'ünïcödé', ' the  end '])(
    'never emits half a character: %s',
    (text) => {
      const decoder = createStreamingDecoder(tokenizer, options)
      const ids = encode(text)
      const pieces = [...Array.from(ids, (id) => decoder.push(id)), decoder.finish()]
      expect(pieces.join('')).toBe(text)
      expect(pieces.join('|')).not.toContain('\uFFFD')
      // Each multi-byte character here is several tokens: some pushes must have held back.
      if (ids.length > [...text].length) expect(pieces).toContain('')
    },
  )

  test('emits each token at once where characters are whole', () => {
    const decoder = createStreamingDecoder(tokenizer, options)
    expect(Array.from(encode('the cat'), (id) => decoder.push(id)).filter((piece) => piece === '')).toEqual(
      [],
    )
  })

  test('shows a truncated character at the end, then starts afresh', () => {
    const decoder = createStreamingDecoder(tokenizer, options)
    const [first] = encode('東')
    expect(decoder.push(first!)).toBe('')
    expect(decoder.finish()).toBe('\uFFFD')
    expect(Array.from(encode('the'), (id) => decoder.push(id)).join('')).toBe('the')
  })

  test('bytes that are no character do not hold the rest back for ever', () => {
    const decoder = createStreamingDecoder(tokenizer, options)
    const [first] = encode('東')
    const pieces = Array.from({ length: 12 }, () => decoder.push(first!)).join('')
    expect(pieces.length).toBeGreaterThan(0)
    expect(pieces + Array.from(encode(' the'), (id) => decoder.push(id)).join('')).toContain(' the')
  })

  test('leaves special tokens out', () => {
    const decoder = createStreamingDecoder(tokenizer, options)
    expect(Array.from(encode('the<|end|>'), (id) => decoder.push(id)).join('') + decoder.finish()).toBe('the')
  })
})

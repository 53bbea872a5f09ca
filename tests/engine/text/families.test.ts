import { Tokenizer as UntypedLibrary } from '@huggingface/tokenizers'
import { describe, expect, test } from 'vitest'
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import {
  digest,
  families,
  tokenizerConfigOf,
  tokenizerJsonOf,
  loadFamily,
  randomIds,
  randomTexts,
  referenceOf,
  texts,
  Xorshift,
} from './families.ts'
import { casesOf } from '../../sweeps.ts'

const plain = { addSpecialTokens: false }
const withSpecial = { addSpecialTokens: true }
const all = { skipSpecialTokens: false }
const skipping = { skipSpecialTokens: true }

/** The library's own types do not resolve under Node's module rules. */
const Library = UntypedLibrary as unknown as new (
  json: object,
  config: object,
) => { encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] } }

/** JavaScript's white space is not Unicode's, and digits are more than 0 to 9; see the README of the fixtures. */
const space = /[\u0085\ufeff]/
const digitsAndSpace = /[\u0085\ufeff\u00b2\u0663\u2167]/
/** Which texts the library encodes in another way than the reference. */
const departures: Readonly<Record<string, RegExp>> = {
  // Three spaces normalize to an added token, which is not to be found there.
  gemma: / {3}/,
  gpt2: space,
  'stablelm-neox': space,
  smollm2: digitsAndSpace,
  granite: digitsAndSpace,
  'phi4-mini': space,
  phi3: /[\u0085\ufeff]|<\|single\|>/,
}

function streamed(tokenizer: Tokenizer, ids: Iterable<number>, options: typeof all): string {
  const decoder = createStreamingDecoder(tokenizer, options)
  return Array.from(ids, (id) => decoder.push(id)).join('') + decoder.finish()
}

describe.each(families)('%s', (family) => {
  const tokenizer = loadFamily(family)
  const reference = referenceOf(family)
  const comparesDecoding = reference.blocks[0]?.length !== 1
  const cases = reference.cases.map((known, index) => ({ text: texts.texts[index] ?? '', ...known }))

  test('has the size of the reference, and a case for every text', () => {
    expect(tokenizer.vocabSize).toBe(reference.vocabSize)
    expect(cases).toHaveLength(texts.texts.length)
  })

  test('gives the ids of the reference', () => {
    const found = cases.map(({ text }) => ({ text, ids: [...tokenizer.encode(text, plain)] }))
    expect(found).toEqual(cases.map(({ text, ids }) => ({ text, ids })))
  })

  test('adds the special tokens of the reference', () => {
    const found = cases.map(({ text }) => ({ text, ids: [...tokenizer.encode(text, withSpecial)] }))
    expect(found).toEqual(cases.map(({ text, ids, special }) => ({ text, ids: special ?? ids })))
  })

  if (comparesDecoding) {
    test('decodes to the texts of the reference, with and without special tokens', () => {
      const found = cases.map(({ ids }) => [tokenizer.decode(ids, all), tokenizer.decode(ids, skipping)])
      expect(found).toEqual(cases.map(({ text, decoded = text, skipped = decoded }) => [decoded, skipped]))
    })
  }

  test('agrees on random texts and as many random lists of ids', () => {
    expect(reference.blocks).toHaveLength(texts.blocks)
    const draw = new Xorshift(texts.seed)
    const blocks = reference.blocks.slice(0, casesOf(12, texts.blocks))
    const found = blocks.map(() => {
      const ids = randomTexts(draw).map((text) => [...tokenizer.encode(text, plain)])
      const noise = randomIds(draw, reference.vocabSize)
      const decoded = (lists: number[][], options: typeof all) =>
        digest(lists.map((list) => tokenizer.decode(list, options)))
      const texts = [decoded(ids, all), decoded(noise, all), decoded(noise, skipping)]
      return comparesDecoding ? [digest(ids), ...texts] : [digest(ids)]
    })
    expect(found).toEqual(blocks)
  })

  test('gives the ids of the library, but where the library departs from the reference', () => {
    const draw = new Xorshift(3)
    const sample = Array.from({ length: 40 }, () => randomTexts(draw)).flat()
    const library = new Library(tokenizerJsonOf(family), {
      ...tokenizerConfigOf(family),
      clean_up_tokenization_spaces: false,
    })
    const compared = sample.filter((text) => departures[family]?.test(text) !== true)
    expect(compared.length).toBeGreaterThan(300)
    expect(compared.map((text) => [...tokenizer.encode(text, plain)])).toEqual(
      compared.map((text) => library.encode(text, { add_special_tokens: false }).ids),
    )
  })

  test('decodes token by token to the same text, whatever the ids', () => {
    const draw = new Xorshift(7)
    const lists = [
      ...cases.map(({ ids }) => ids),
      ...Array.from({ length: 8 }, () => randomIds(draw, reference.vocabSize)).flat(),
    ]
    for (const options of [all, skipping]) {
      expect(lists.map((ids) => streamed(tokenizer, ids, options))).toEqual(
        lists.map((ids) => tokenizer.decode(ids, options)),
      )
    }
  })
})

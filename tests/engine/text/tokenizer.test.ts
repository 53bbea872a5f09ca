import { describe, expect, test } from 'vitest'
import { createTokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { families, tokenizerConfigOf, tokenizerJsonOf } from './families.ts'
import { smallTokenizerConfig, smallTokenizerJson } from './fixtures.ts'

const where = '/models/tiny/tokenizer.json'
const create = (tokenizerJson: unknown, tokenizerConfig: unknown = smallTokenizerConfig) =>
  createTokenizer({ tokenizerJson, tokenizerConfig, where })
const plain = { addSpecialTokens: false }
const all = { skipSpecialTokens: false }

describe('createTokenizer', () => {
  const tokenizer = create(smallTokenizerJson())

  test.each([
    'the cat sat on the mat',
    ' leading and trailing ',
    'spaces   before .  , ! do not vanish',
    'tabs\tand\nnew lines\r\n',
    'naïve café, 東京 and 👩‍🔬 emoji',
    '',
  ])('decodes what it encoded: %j', (text) => {
    expect(tokenizer.decode(tokenizer.encode(text, plain), all)).toBe(text)
  })

  test('keeps every digit a token of its own', () => {
    expect(tokenizer.encode('2794', plain)).toHaveLength(4)
  })

  test('reads special tokens as one id and leaves them out when asked', () => {
    const ids = tokenizer.encode('<|user|>the cat<|end|>', plain)
    expect(ids[0]).toBe(tokenizer.tokenToId('<|user|>'))
    expect(ids.at(-1)).toBe(tokenizer.special.eos)
    expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe('the cat')
    expect(tokenizer.decode(ids, all)).toBe('<|user|>the cat<|end|>')
  })

  test('finds special ids given as text or as an object', () => {
    expect(tokenizer.special).toEqual({ bos: null, eos: 1, pad: 0 })
  })

  test('adds what the template of the file says, and only when asked', () => {
    const single = [{ SpecialToken: { id: '<|user|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }]
    const withTemplate = create({
      ...smallTokenizerJson(),
      post_processor: { type: 'TemplateProcessing', single, pair: single, special_tokens: {} },
    })
    expect(withTemplate.encode('the', { addSpecialTokens: true })).toHaveLength(2)
    expect(withTemplate.encode('the', plain)).toHaveLength(1)
  })

  test('decodes ids beyond the vocabulary to nothing', () => {
    const the = tokenizer.encode('the', plain)
    expect(tokenizer.decode([tokenizer.vocabSize + 5, ...the, -1], all)).toBe('the')
  })

  test('counts the vocabulary by its highest id', () => {
    expect(tokenizer.idToToken(tokenizer.vocabSize - 1)).not.toBeNull()
    expect(tokenizer.idToToken(tokenizer.vocabSize)).toBeNull()
  })
})

describe('hostile files', () => {
  const model = smallTokenizerJson()['model'] as Record<string, unknown>
  const withModel = (change: Record<string, unknown>) => ({
    ...smallTokenizerJson(),
    model: { ...model, ...change },
  })
  const withSplit = (Regex: string) => ({
    ...smallTokenizerJson(),
    pre_tokenizer: { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false },
  })
  const cyclic: Record<string, unknown> = { type: 'Sequence' }
  cyclic['normalizers'] = [cyclic, cyclic]
  let deep: unknown = { type: 'NFC' }
  for (let level = 0; level < 100_000; level++) deep = { type: 'Sequence', normalizers: [deep] }
  const growing = Array.from({ length: 40 }, () => ({
    type: 'Replace',
    pattern: { String: 'a' },
    content: 'aa',
  }))

  const text = { Sequence: { id: 'A', type_id: 0 } }
  const repeating = { type: 'TemplateProcessing', single: [text, text], special_tokens: {} }

  const cases: Record<string, unknown> = {
    null: null,
    'a list': [],
    'a text': 'tokenizer',
    'an empty object': {},
    'no vocabulary': withModel({ vocab: undefined }),
    'an empty vocabulary': { ...withModel({ vocab: {} }), added_tokens: [] },
    'an unknown model': withModel({ type: 'Martian', vocab: 7 }),
    'an id that is a text': withModel({ vocab: { a: '1' } }),
    'an id that is negative': withModel({ vocab: { a: -1 } }),
    'an id that is huge': withModel({ vocab: { a: 1e15 } }),
    'merges that are numbers': withModel({ merges: [1, 2] }),
    'no merges': withModel({ merges: undefined }),
    'an added token without id': { ...smallTokenizerJson(), added_tokens: [{ content: 'x' }] },
    'an added token without text': { ...smallTokenizerJson(), added_tokens: [{ id: 3, content: '' }] },
    'an unknown normalizer': { ...smallTokenizerJson(), normalizer: { type: 'Martian' } },
    'a cyclic normalizer': { ...smallTokenizerJson(), normalizer: cyclic },
    'a deep normalizer': { ...smallTokenizerJson(), normalizer: deep },
    'a normalizer that doubles the text forty times': {
      ...smallTokenizerJson(),
      normalizer: { type: 'Sequence', normalizers: growing },
    },
    'pieces of no length': { ...smallTokenizerJson(), pre_tokenizer: { type: 'FixedLength', length: 0 } },
    'a template that repeats the text without end': {
      ...smallTokenizerJson(),
      post_processor: { type: 'Sequence', processors: Array.from({ length: 20 }, () => ({ ...repeating })) },
    },
    'a template without the text': {
      ...smallTokenizerJson(),
      post_processor: { type: 'TemplateProcessing', single: [], special_tokens: {} },
    },
    'a pattern that is no pattern': withSplit('(((['),
    'a split without a pattern': { ...smallTokenizerJson(), pre_tokenizer: { type: 'Split', pattern: {} } },
    'a pattern with nested repetition': withSplit('(a+)+$'),
    'a pattern with repeated alternatives': withSplit('(?:a|aa)*$'),
  }

  test.each(Object.keys(cases))('%s: one sentence that names the file', (name) => {
    const thrown = errorOf(() => create(cases[name]))
    expect(thrown).toBeInstanceOf(AppError)
    expect(thrown).toMatchObject({ code: 'tokenizer/invalid' })
    expect((thrown as AppError).message).toContain(where)
  })

  test('an id that the file does not define is an error, not a zero', () => {
    const single = [{ SpecialToken: { id: '<nowhere>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }]
    const post_processor = { type: 'TemplateProcessing', single, pair: single, special_tokens: {} }
    const tokenizer = create({ ...smallTokenizerJson(), post_processor })
    expect(errorOf(() => tokenizer.encode('the', { addSpecialTokens: true }))).toMatchObject({
      code: 'tokenizer/invalid',
    })
  })

  test('an added token of a page is turned away', () => {
    const added_tokens = [{ id: 0, content: 'x'.repeat(10_000) }]
    expect(errorOf(() => create({ ...smallTokenizerJson(), added_tokens }))).toMatchObject({
      code: 'tokenizer/invalid',
    })
  })

  test.each(['small', ...families])(
    'whatever is broken in %s, it works or ends in tokenizer/invalid',
    (family) => {
      const random = new SequentialRandom(randomStream(20, 26))
      const json = family === 'small' ? smallTokenizerJson() : tokenizerJsonOf(family)
      const config = family === 'small' ? smallTokenizerConfig : tokenizerConfigOf(family)
      for (let round = 0; round < (family === 'small' ? 400 : 60); round++) {
        const thrown = errorOf(() => {
          const tokenizer = create(mutated(structuredClone(json), random), mutated({ ...config }, random))
          tokenizer.decode(tokenizer.encode('the <|end|> 7 é</s>', { addSpecialTokens: true }), all)
        })
        if (thrown !== null) expect(thrown).toMatchObject({ code: 'tokenizer/invalid' })
      }
    },
  )
})

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return null
}

const junk: readonly unknown[] = [
  null,
  undefined,
  0,
  -1,
  1e308,
  Number.NaN,
  '',
  'x',
  'x'.repeat(10_000),
  [],
  {},
  [[]],
  true,
  '__proto__',
  [null],
  { type: null },
]

/** Replaces or removes one to three values somewhere in the document. */
function mutated(document: Record<string, unknown>, random: SequentialRandom): unknown {
  for (let change = 1 + random.integer(3); change > 0; change--) {
    let holder: Record<string, unknown> = document
    for (;;) {
      const keys = Object.keys(holder)
      const key = keys[random.integer(keys.length)]
      if (key === undefined) break
      const child = holder[key]
      if (typeof child === 'object' && child !== null && random.uniform() < 0.75) {
        holder = child as Record<string, unknown>
        continue
      }
      if (random.uniform() < 0.2) Reflect.deleteProperty(holder, key)
      else holder[key] = junk[random.integer(junk.length)]
      break
    }
  }
  return document
}

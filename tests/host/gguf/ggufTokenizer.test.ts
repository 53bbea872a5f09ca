/** Tokenizers out of a GGUF file against the tokenizer.json they were written from, and what is refused. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GgufValue } from '#host/gguf/gguf.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { folderOf, tokenizerFixtures, vocabularies, writeVocabulary } from './vocabularies.ts'

const folder = temporaryFolder()
const { texts } = JSON.parse(readFileSync(path.join(tokenizerFixtures, 'texts.json'), 'utf8')) as {
  readonly texts: readonly string[]
}

/** The fixture's longest run of spaces is only an added token; in Gemma's own vocabulary it is merged from shorter ones too. */
const mergesSpaces = / {3}/

function load(name: string, changes: readonly [string, GgufValue][] = []) {
  const file = path.join(folder, `${name}.gguf`)
  writeVocabulary(file, name, changes)
  return loadTokenizer(file)
}

describe.each(Object.keys(vocabularies))('%s', (name) => {
  test('makes the ids and texts of its tokenizer.json', () => {
    const { tokenizer } = load(name)
    const original = loadTokenizer(path.join(tokenizerFixtures, folderOf(name))).tokenizer
    expect(texts.length).toBeGreaterThan(50)
    for (const text of texts.filter((candidate) => name !== 'gemma' || !mergesSpaces.test(candidate))) {
      for (const addSpecialTokens of [false, true]) {
        const ids = tokenizer.encode(text, { addSpecialTokens })
        expect([text, [...ids]]).toEqual([text, [...original.encode(text, { addSpecialTokens })]])
        const options = { skipSpecialTokens: addSpecialTokens }
        expect(tokenizer.decode(ids, options)).toBe(original.decode(ids, options))
      }
    }
    expect(tokenizer.special).toEqual(original.special)
    expect(tokenizer.vocabSize).toBe(original.vocabSize)
  })
})

test('the chat template comes along, by its name where there are several', () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const render = (changes: readonly [string, GgufValue][], tools?: readonly unknown[]) =>
    load('gpt2', changes).chatTemplate?.render(messages, {
      addGenerationPrompt: true,
      ...(tools && { tools }),
    })
  expect(render([])).toBe('Hi')
  const forTools: [string, GgufValue] = [
    'tokenizer.chat_template.tool_use',
    { type: 'string', value: 'tools' },
  ]
  expect(render([forTools])).toBe('Hi')
  expect(render([forTools], [{}])).toBe('tools')
})

test.each([
  ['model', 'bert', 'has a vocabulary of the kind “bert”'],
  ['model', 't5', 'has a vocabulary of the kind “t5”'],
  ['pre', 'default', 'has the pre-tokenizer “default”'],
  ['pre', 'superbpe', 'has the pre-tokenizer “superbpe”'],
])('%s “%s” is refused by name', (key, value, sentence) => {
  expect(() => load('gpt2', [[`tokenizer.ggml.${key}`, { type: 'string', value }]])).toThrow(sentence)
})

test('tokens without scores or types are refused', () => {
  const none = (of: 'float32' | 'int32'): GgufValue => ({ type: 'array', of, items: [] })
  expect(() => load('llama2', [['tokenizer.ggml.scores', none('float32')]])).toThrow('have no scores')
  expect(() => load('gpt2', [['tokenizer.ggml.token_type', none('int32')]])).toThrow('types of tokens')
})

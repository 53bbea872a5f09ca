/** The small tokenizers of tests/fixtures/tokenizers as llama.cpp's converter puts them into a GGUF file. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type GgufValue, writeGguf } from '#host/gguf/gguf.ts'

export const tokenizerFixtures = path.resolve(import.meta.dirname, '../../fixtures/tokenizers')

/** The tokenizer of Gemma as files of Gemma 4 have it. */
const merged = 'merged'
const folders: Readonly<Record<string, string>> = { gemma4: 'gemma' }
export const folderOf = (name: string): string => folders[name] ?? name

/** By folder: the pre-tokenizer's name in llama.cpp; of SentencePiece null, or `merged` for its list of merges. */
export const vocabularies: Readonly<Record<string, string | null>> = {
  gpt2: 'gpt-2',
  smollm2: 'smollm',
  granite: 'refact',
  llama3: 'llama-bpe',
  smollm3: 'llama-bpe',
  olmo2: 'dbrx',
  phi4: 'dbrx',
  qwen2: 'qwen2',
  'phi4-mini': 'gpt-4o',
  llama2: null,
  gemma: null,
  gemma4: merged,
}

interface TokenizerJson {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>
    readonly merges: readonly (string | readonly [string, string])[]
  }
  readonly added_tokens: readonly {
    readonly id: number
    readonly content: string
    readonly special: boolean
  }[]
  readonly post_processor: unknown
  readonly normalizer: unknown
}

const readJson = (folder: string, name: string): unknown =>
  JSON.parse(readFileSync(path.join(tokenizerFixtures, folder, name), 'utf8'))

/** A file with a vocabulary and no tensors. */
export function writeVocabulary(
  file: string,
  folder: string,
  changes: readonly [string, GgufValue][] = [],
): void {
  writeGguf(file, { metadata: new Map([...vocabularyOf(folder), ...changes]), tensors: [] })
}

const text = (value: string): GgufValue => ({ type: 'string', value })

function vocabularyOf(folder: string): Map<string, GgufValue> {
  const json = readJson(folderOf(folder), 'tokenizer.json') as TokenizerJson
  const config = readJson(folderOf(folder), 'tokenizer_config.json') as Readonly<Record<string, string>>
  const pre = vocabularies[folder] ?? null
  const architecture = folder.startsWith('phi') ? 'phi3' : 'llama'
  const isSentences = pre === null || pre === merged
  const { tokens, types, idOf } = tokensOf(json, isSentences)
  const ids = ['bos', 'eos', 'unk', 'pad'].flatMap((part): [string, GgufValue][] => {
    const id = idOf.get(config[`${part}_token`] ?? '')
    const name = part === 'unk' ? 'unknown' : part === 'pad' ? 'padding' : part
    return id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, { type: 'uint32', value: id }]]
  })
  const merges = json.model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')))
  const isTemplate = JSON.stringify(json.post_processor).includes('TemplateProcessing')
  return new Map<string, GgufValue>([
    ['general.architecture', text(architecture)],
    ['general.name', text(folder)],
    [`${architecture}.vocab_size`, { type: 'uint32', value: tokens.length }],
    ['tokenizer.ggml.model', text(pre === merged ? 'gemma4' : isSentences ? 'llama' : 'gpt2')],
    ...(pre === merged ? [] : [['tokenizer.ggml.pre', text(pre ?? 'default')] as const]),
    ['tokenizer.ggml.tokens', { type: 'array', of: 'string', items: tokens }],
    ['tokenizer.ggml.token_type', { type: 'array', of: 'int32', items: types }],
    ...(isSentences ? scoresOf(tokens, merges) : []),
    ...(pre === null ? [] : [mergesEntry(merges)]),
    ...ids,
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: isTemplate }],
    [
      'tokenizer.ggml.add_space_prefix',
      { type: 'bool', value: JSON.stringify(json.normalizer).includes('Prepend') },
    ],
    ['tokenizer.chat_template', text('{{ messages[0].content }}')],
  ])
}

const mergesEntry = (merges: readonly string[]): [string, GgufValue] => [
  'tokenizer.ggml.merges',
  { type: 'array', of: 'string', items: merges },
]

function tokensOf(json: TokenizerJson, hasBytes: boolean) {
  const added = new Map(json.added_tokens.map((token) => [token.id, token]))
  const idOf = new Map([
    ...Object.entries(json.model.vocab),
    ...json.added_tokens.map(({ content, id }) => [content, id] as const),
  ])
  const tokens = Array.from({ length: idOf.size }, (_, id) => `[PAD${id}]`)
  for (const [token, id] of idOf) tokens[id] = token
  const types = tokens.map((token, id) => {
    if (hasBytes && /^<0x[0-9A-F]{2}>$/.test(token)) return 6
    if (hasBytes && token === '<unk>') return 2
    const entry = added.get(id)
    return entry === undefined ? 1 : entry.special ? 3 : 4
  })
  return { tokens, types, idOf }
}

/** What is merged first has the highest score; single characters have the lowest. */
function scoresOf(tokens: readonly string[], merges: readonly string[]): [string, GgufValue][] {
  const ranks = new Map(merges.map((merge, rank) => [merge.replace(' ', ''), -rank]))
  const items = tokens.map((token) => ranks.get(token) ?? -10_000)
  return [['tokenizer.ggml.scores', { type: 'array', of: 'float32', items: Float32Array.from(items) }]]
}

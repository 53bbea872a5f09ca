/** The two files of a tokenizer, checked: whatever is in them, what comes out has the structure it claims. */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { AddedToken } from './pipeline/addedTokens.ts'
import { isRecord, pipelineFault } from './pipelineLimits.ts'

export interface TokenizerFiles {
  /** Parsed tokenizer.json. */
  readonly tokenizerJson: unknown
  /** Parsed tokenizer_config.json; null where there is none. */
  readonly tokenizerConfig: unknown
  /** Named in every error: a path or a model's name. */
  readonly where: string
}

/** Larger than any published vocabulary; bounds the table that ids index. */
const maxVocabSize = 4_194_304

/** Published ones are names of a few words; at every place of a text each may be looked for. */
const maxAddedLength = 512

/** The files after their structure was checked: only now may the library see them. */
export interface CheckedFiles {
  readonly json: Record<string, unknown>
  readonly config: Record<string, unknown>
  readonly addedTokens: readonly AddedToken[]
  /** Tokens that the config calls special, whatever their entry says. */
  readonly namedSpecial: readonly string[]
  readonly vocabSize: number
}

export function checkedFiles({ tokenizerJson, tokenizerConfig, where }: TokenizerFiles): CheckedFiles {
  const config = tokenizerConfig ?? {}
  if (!isRecord(tokenizerJson)) throw tokenizerInvalid(where, 'tokenizer.json is not an object')
  if (!isRecord(config)) throw tokenizerInvalid(where, 'tokenizer_config.json is not an object')
  const { model } = tokenizerJson
  if (!isRecord(model)) throw tokenizerInvalid(where, 'tokenizer.json has no model')
  const fault = pipelineFault(tokenizerJson) ?? mergesFault(model)
  if (fault !== null) throw tokenizerInvalid(where, fault)
  const addedTokens = readAddedTokens(tokenizerJson['added_tokens'] ?? [], where)
  const vocabSize = highestId(model['vocab'], addedTokens, where) + 1
  const json = {
    decoder: null,
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    ...tokenizerJson,
  }
  return {
    json: { ...json, added_tokens: addedTokens },
    config: { ...usedConfig(config), clean_up_tokenization_spaces: false },
    namedSpecial: namedSpecialTokens(config),
    addedTokens,
    vocabSize,
  }
}

const specialNames = ['bos', 'eos', 'pad', 'unk', 'sep', 'cls', 'mask'].map((name) => `${name}_token`)

/** The named ones and those of the lists for further ones. */
function namedSpecialTokens(config: Readonly<Record<string, unknown>>): string[] {
  const lists = ['additional_special_tokens', 'extra_special_tokens'].flatMap((name) => {
    const value = config[name]
    return typeof value === 'object' && value !== null ? (Object.values(value) as unknown[]) : []
  })
  const values = [...specialNames.map((name) => config[name]), ...lists]
  return values.map(tokenText).filter((token) => token !== null)
}

/** The settings the library reads, each only if it has the type it needs; the rest is none of its business. */
function usedConfig(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name of ['bos_token', 'eos_token', 'pad_token', 'unk_token'] as const) {
    const token = tokenText(config[name])
    if (token !== null) kept[name] = token
  }
  for (const name of ['remove_space', 'do_lowercase_and_remove_accent'] as const) {
    if (typeof config[name] === 'boolean') kept[name] = config[name]
  }
  return kept
}

/** A special token of tokenizer_config.json: a string, or an object around it. */
function tokenText(value: unknown): string | null {
  const text = isRecord(value) ? value['content'] : value
  return typeof text === 'string' && text !== '' ? text : null
}

function readAddedTokens(value: unknown, where: string): AddedToken[] {
  if (!Array.isArray(value)) throw tokenizerInvalid(where, 'added_tokens is not a list')
  return value.map((entry: unknown, index) => {
    if (!isRecord(entry) || typeof entry['content'] !== 'string' || entry['content'] === '') {
      throw tokenizerInvalid(where, `added token ${index} has no content`)
    }
    if (entry['content'].length > maxAddedLength) {
      throw tokenizerInvalid(where, `added token ${index} is longer than ${maxAddedLength} characters`)
    }
    return {
      ...entry,
      content: entry['content'],
      id: expectId(entry['id'], where),
      special: entry['special'] === true,
    }
  })
}

function mergesFault(model: Readonly<Record<string, unknown>>): string | null {
  const merges = model['merges']
  if (merges === undefined) return model['type'] === 'BPE' ? 'its BPE model has no merges' : null
  if (!Array.isArray(merges)) return 'merges is not a list'
  const isPair = (merge: unknown) =>
    typeof merge === 'string' ||
    (Array.isArray(merge) && merge.length === 2 && merge.every((part) => typeof part === 'string'))
  const wrong = merges.findIndex((merge) => !isPair(merge))
  return wrong < 0 ? null : `merge ${wrong} is not a pair of tokens`
}

/** Checks every id of the vocabulary (token → id, or a list of [token, score]) and of the added tokens. */
function highestId(vocab: unknown, addedTokens: readonly AddedToken[], where: string): number {
  let highest = -1
  const see = (id: unknown) => (highest = Math.max(highest, expectId(id, where)))
  if (Array.isArray(vocab)) {
    vocab.forEach((entry: unknown, id) => {
      if (!Array.isArray(entry) || typeof entry[0] !== 'string' || typeof entry[1] !== 'number') {
        throw tokenizerInvalid(where, `vocabulary entry ${id} is not a token with a score`)
      }
      see(id)
    })
  } else if (isRecord(vocab)) {
    for (const id of Object.values(vocab)) see(id)
  } else {
    throw tokenizerInvalid(where, 'its model has no vocabulary')
  }
  for (const { id } of addedTokens) see(id)
  if (highest < 0) throw tokenizerInvalid(where, 'its vocabulary is empty')
  return highest
}

/** The id itself. Errors: `tokenizer/invalid`. */
export function expectId(id: unknown, where: string): number {
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < maxVocabSize) return id
  throw tokenizerInvalid(where, id === undefined ? 'a token has no id' : `${shortly(id)} is not a token id`)
}

const shortly = (value: unknown): string => shorten(String(value).slice(0, 40))

export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? shortly(error.message) : shortly(error)

export function tokenizerInvalid(where: string, fault: string, cause?: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `The tokenizer of ${where} cannot be used: ${fault}.`,
    'Nothing was changed. Get its tokenizer.json and tokenizer_config.json again from where the model came from.',
    cause,
  )
}

/**
 * Text to tokens and back. Reading guide: this file wraps the tokenizer library so that hostile files end in one
 * sentence; `pipelineLimits.ts` turns away pipelines that could run for ever; `chatTemplate.ts` turns messages into
 * prompt text; `streamingDecode.ts` turns tokens into text while they arrive.
 */
import { Tokenizer as UntypedTokenizer } from '@huggingface/tokenizers'
import { AppError } from '#shared/errors.ts'
import { isRecord, pipelineFault } from './pipelineLimits.ts'

export interface SpecialIds {
  readonly bos: number | null
  readonly eos: number | null
  readonly pad: number | null
}

export interface Tokenizer {
  /** Highest id plus one; a model's embedding table may be larger. */
  readonly vocabSize: number
  readonly special: SpecialIds
  /** `addSpecialTokens` applies the file's own template, such as a leading bos; chat prompts carry theirs already. */
  encode(text: string, options: { readonly addSpecialTokens: boolean }): Int32Array
  /** Ids without a token (a model's table may be padded) decode to nothing. */
  decode(ids: Iterable<number>, options: { readonly skipSpecialTokens: boolean }): string
  tokenToId(token: string): number | null
  /** The token as the vocabulary spells it, which for byte-level vocabularies is not its text. */
  idToToken(id: number): string | null
}

export interface TokenizerFiles {
  /** Parsed tokenizer.json. */
  readonly tokenizerJson: unknown
  /** Parsed tokenizer_config.json; null where there is none. */
  readonly tokenizerConfig: unknown
  /** Named in every error: a path or a model's name. */
  readonly where: string
}

/** What is used of the library, whose own types do not resolve under Node's module rules. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: unknown[] }
  decode(ids: readonly number[], options: { clean_up_tokenization_spaces: boolean }): string
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
}
const LibraryTokenizer = UntypedTokenizer as unknown as new (json: object, config: object) => Library

/** Larger than any published vocabulary; bounds the table that ids index. */
const maxVocabSize = 4_194_304

/** A tokenizer from its two parsed files. Whatever is in them, the only error is `tokenizer/invalid`. */
export function createTokenizer({ tokenizerJson, tokenizerConfig, where }: TokenizerFiles): Tokenizer {
  const guard = <T>(doing: string, work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw error instanceof AppError
        ? error
        : tokenizerInvalid(where, `${doing}: ${sentenceOf(error)}`, error)
    }
  }
  const parts = guard('it could not be read', () => checkedFiles(tokenizerJson, tokenizerConfig, where))
  const library = guard('it could not be built', () => new LibraryTokenizer(parts.json, parts.config))
  const idOf = (token: string) => library.token_to_id(token) ?? null
  const tokenOf = (id: number) => library.id_to_token(id) ?? null
  const special = specialIds(parts.config, idOf)
  const skipped = skippedIds(parts, special, idOf)

  return {
    vocabSize: parts.vocabSize,
    special,
    encode: (text, { addSpecialTokens }) =>
      guard('text could not be encoded', () => {
        const { ids } = library.encode(text, { add_special_tokens: addSpecialTokens })
        return Int32Array.from(ids, (id) => expectId(id, where))
      }),
    decode: (ids, { skipSpecialTokens }) =>
      guard('tokens could not be decoded', () => {
        const kept = Array.from(ids).filter(
          (id) => tokenOf(id) !== null && !(skipSpecialTokens && skipped.has(id)),
        )
        // The library tidies spaces before punctuation unless told not to, which breaks the round trip.
        return kept.length === 0 ? '' : library.decode(kept, { clean_up_tokenization_spaces: false })
      }),
    tokenToId: idOf,
    idToToken: tokenOf,
  }
}

/** The files after their structure was checked: only now may the library see them. */
interface CheckedFiles {
  readonly json: Record<string, unknown>
  readonly config: Record<string, unknown>
  readonly addedTokens: readonly AddedToken[]
  readonly vocabSize: number
}

interface AddedToken {
  readonly id: number
  readonly content: string
  readonly special: boolean
}

function checkedFiles(tokenizerJson: unknown, tokenizerConfig: unknown, where: string): CheckedFiles {
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
    addedTokens,
    vocabSize,
  }
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

function expectId(id: unknown, where: string): number {
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < maxVocabSize) return id
  throw tokenizerInvalid(where, id === undefined ? 'a token has no id' : `${shortly(id)} is not a token id`)
}

function specialIds(
  config: Readonly<Record<string, unknown>>,
  idOf: (token: string) => number | null,
): SpecialIds {
  const named = (name: string) => {
    const token = config[name]
    return typeof token === 'string' ? idOf(token) : null
  }
  return { bos: named('bos_token'), eos: named('eos_token'), pad: named('pad_token') }
}

/** What `skipSpecialTokens` leaves out: tokens marked special, and those the config gives a part to. */
function skippedIds(
  { addedTokens }: CheckedFiles,
  { bos, eos, pad }: SpecialIds,
  idOf: (token: string) => number | null,
): ReadonlySet<number> {
  const marked = addedTokens.filter(({ special }) => special).map(({ content, id }) => idOf(content) ?? id)
  return new Set([...marked, ...[bos, eos, pad].filter((id) => id !== null)])
}

const shortly = (value: unknown): string => String(value).slice(0, 40)

const sentenceOf = (error: unknown): string =>
  error instanceof Error ? shortly(error.message) : shortly(error)

function tokenizerInvalid(where: string, fault: string, cause?: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `The tokenizer of ${where} cannot be used: ${fault}.`,
    'Nothing was changed. Get its tokenizer.json and tokenizer_config.json again from where the model came from.',
    cause,
  )
}

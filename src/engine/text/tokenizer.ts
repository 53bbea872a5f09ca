/**
 * Text to tokens and back. Reading guide: this file checks the files, so that hostile ones end in one sentence, and
 * joins the parts; `pipeline/` encodes and decodes as the reference implementation does (start at `encoder.ts`), with the
 * steps of the tokenizer library where these do too; `pipelineLimits.ts` turns away pipelines that could run for ever;
 * `chatTemplate.ts` turns messages into prompt text; `streamingDecode.ts` turns tokens into text while
 * they arrive.
 */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { AddedToken } from './pipeline/addedTokens.ts'
import { byteOfToken, createDecoder } from './pipeline/decoders.ts'
import { createEncoder, type EncodeText } from './pipeline/encoder.ts'
import { library } from './pipeline/steps.ts'
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
  /** Returns true if the token is a lone byte (byte fallback), whose text depends on the bytes next to it. */
  isByte(id: number): boolean
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

/** A tokenizer from its two parsed files. Whatever is in them, the only error is `tokenizer/invalid`. */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const { where } = files
  const guard = <T>(doing: string, work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw error instanceof AppError
        ? error
        : tokenizerInvalid(where, `${doing}: ${sentenceOf(error)}`, error)
    }
  }
  const parts = guard('it could not be read', () => checkedFiles(files))
  const { idOf, tokenOf } = createTables(parts)
  const expectIdOf = (token: string) => expectId(idOf(token) ?? undefined, where)
  const encode = guard('it could not be built', () => encoderOf(parts, expectIdOf, where))
  const decoder = guard('it could not be built', () => createDecoder(parts.json['decoder']))
  const special = specialIds(parts.config, idOf)
  const skipped = skippedIds(parts, idOf)

  return {
    vocabSize: parts.vocabSize,
    special,
    encode: (text, { addSpecialTokens }) =>
      guard('text could not be encoded', () => encode(text.toWellFormed(), addSpecialTokens)),
    decode: (ids, { skipSpecialTokens }) =>
      guard('tokens could not be decoded', () => {
        const kept = Array.from(ids).filter(
          (id) => tokenOf(id) !== null && !(skipSpecialTokens && skipped.has(id)),
        )
        return kept.length === 0 ? '' : decoder.decode(kept.map((id) => tokenOf(id) ?? ''))
      }),
    isByte: (id) => decoder.hasByteTokens && byteOfToken(tokenOf(id) ?? '') !== null,
    tokenToId: idOf,
    idToToken: tokenOf,
  }
}

/**
 * Chooses the encoder: our own for byte-pair encoding, which nearly all language models have; the library's for other
 * models.
 */
function encoderOf(parts: CheckedFiles, expectIdOf: (token: string) => number, where: string): EncodeText {
  const own = createEncoder({ ...parts, expectId: expectIdOf })
  if (own !== null) return own
  const others = new library.Tokenizer(parts.json, parts.config)
  return (text, addSpecialTokens) => {
    const { ids } = others.encode(text, { add_special_tokens: addSpecialTokens })
    return Int32Array.from(ids, (id) => expectId(id, where))
  }
}

/** Creates the tables; added tokens take precedence over entries of the vocabulary. */
function createTables({ json, addedTokens }: CheckedFiles) {
  const ids = new Map(vocabularyEntries(json))
  const tokens: (string | undefined)[] = []
  for (const [token, id] of ids) tokens[id] = token
  for (const { content, id } of addedTokens) {
    ids.set(content, id)
    tokens[id] = content
  }
  return {
    idOf: (token: string): number | null => ids.get(token) ?? null,
    tokenOf: (id: number): string | null => tokens[id] ?? null,
  }
}

/** Tokens with their ids, from either form of a vocabulary; checked before. */
function vocabularyEntries({ model }: Readonly<Record<string, unknown>>): [string, number][] {
  const vocab = isRecord(model) ? model['vocab'] : null
  return Array.isArray(vocab)
    ? vocab.map((entry: readonly [string, number], id) => [entry[0], id])
    : (Object.entries(vocab ?? {}) as [string, number][])
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

/** Returns the ids that `skipSpecialTokens` leaves out: tokens marked special, and those the config gives a part to. */
function skippedIds(
  { addedTokens, namedSpecial }: CheckedFiles,
  idOf: (token: string) => number | null,
): ReadonlySet<number> {
  const marked = addedTokens.filter(({ special }) => special).map(({ id }) => id)
  return new Set([...marked, ...namedSpecial.map(idOf).filter((id) => id !== null)])
}

/** Limit of the table that ids index; larger than any published vocabulary. */
const maxVocabSize = 4_194_304

/** Published ones are names of a few words; at every place of a text each may be looked for. */
const maxAddedLength = 512

/** The files after their structure was checked: only now may the library see them. */
interface CheckedFiles {
  readonly json: Record<string, unknown>
  readonly config: Record<string, unknown>
  readonly addedTokens: readonly AddedToken[]
  /** Tokens that the config calls special, whatever their entry says. */
  readonly namedSpecial: readonly string[]
  readonly vocabSize: number
}

function checkedFiles({ tokenizerJson, tokenizerConfig, where }: TokenizerFiles): CheckedFiles {
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

/** Returns the named special tokens and those of the lists for further ones. */
function namedSpecialTokens(config: Readonly<Record<string, unknown>>): string[] {
  const lists = ['additional_special_tokens', 'extra_special_tokens'].flatMap((name) => {
    const value = config[name]
    return typeof value === 'object' && value !== null ? (Object.values(value) as unknown[]) : []
  })
  const values = [...specialNames.map((name) => config[name]), ...lists]
  return values.map(tokenText).filter((token) => token !== null)
}

/** Returns the settings that the library reads, each only if it has the type it needs; all others are dropped. */
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
function expectId(id: unknown, where: string): number {
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < maxVocabSize) return id
  throw tokenizerInvalid(where, id === undefined ? 'a token has no id' : `${shortly(id)} is not a token id`)
}

const shortly = (value: unknown): string => shorten(String(value).slice(0, 40))

const sentenceOf = (error: unknown): string =>
  error instanceof Error ? shortly(error.message) : shortly(error)

function tokenizerInvalid(where: string, fault: string, cause?: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `The tokenizer of ${where} cannot be used: ${fault}.`,
    'Nothing was changed. Download its tokenizer.json and tokenizer_config.json again.',
    cause,
  )
}

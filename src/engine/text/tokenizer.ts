/**
 * Text to tokens and back. Reading guide: this file checks the files, so that hostile ones end in one sentence, and
 * joins the parts; `pipeline/` encodes and decodes as the reference implementation does (start at `encoder.ts`), and
 * pipelines with steps unknown there go to the tokenizer library; `pipelineLimits.ts` turns away pipelines that could
 * run for ever; `chatTemplate.ts` turns messages into prompt text; `streamingDecode.ts` turns tokens into text while
 * they arrive.
 */
import { Tokenizer as UntypedTokenizer } from '@huggingface/tokenizers'
import { AppError } from '#shared/errors.ts'
import { byteOfToken, createDecoder } from './pipeline/decoders.ts'
import { createEncoder } from './pipeline/encoder.ts'
import { isRecord } from './pipelineLimits.ts'
import { checkedFiles, expectId, sentenceOf, tokenizerInvalid } from './tokenizerFiles.ts'
import type { CheckedFiles, TokenizerFiles } from './tokenizerFiles.ts'

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
  /** Whether the token is a lone byte (byte fallback), whose text depends on the bytes next to it. */
  isByte(id: number): boolean
  tokenToId(token: string): number | null
  /** The token as the vocabulary spells it, which for byte-level vocabularies is not its text. */
  idToToken(id: number): string | null
}

/** What is used of the library, whose own types do not resolve under Node's module rules. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: unknown[] }
  decode(ids: readonly number[], options: { clean_up_tokenization_spaces: boolean }): string
}
const LibraryTokenizer = UntypedTokenizer as unknown as new (json: object, config: object) => Library

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
  const { encode, decode, hasByteTokens } = guard('it could not be built', () => createCoders(parts, where))
  const { idOf, tokenOf } = createTables(parts)
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
        return kept.length === 0 ? '' : decode(kept, tokenOf)
      }),
    isByte: (id) => hasByteTokens && byteOfToken(tokenOf(id) ?? '') !== null,
    tokenToId: idOf,
    idToToken: tokenOf,
  }
}

interface Coders {
  readonly encode: (text: string, addSpecialTokens: boolean) => Int32Array
  readonly decode: (ids: readonly number[], tokenOf: (id: number) => string | null) => string
  readonly hasByteTokens: boolean
}

/** Our own where the pipeline is known through and through, otherwise the library's. */
function createCoders(parts: CheckedFiles, where: string): Coders {
  const encoder = createEncoder(parts)
  const decoder = createDecoder(parts.json['decoder'])
  const library = encoder === null || decoder === null ? new LibraryTokenizer(parts.json, parts.config) : null
  const encodeByLibrary: Coders['encode'] = (text, addSpecialTokens) => {
    const ids = library?.encode(text, { add_special_tokens: addSpecialTokens }).ids ?? []
    return Int32Array.from(ids, (id) => expectId(id, where))
  }
  return {
    encode: encoder ?? encodeByLibrary,
    decode:
      decoder === null
        ? // The library tidies spaces before punctuation unless told not to, which breaks the round trip.
          (ids) => library?.decode(ids, { clean_up_tokenization_spaces: false }) ?? ''
        : (ids, tokenOf) => decoder.decode(ids.map((id) => tokenOf(id) ?? '')),
    hasByteTokens: decoder?.hasByteTokens ?? false,
  }
}

/** Added tokens win over entries of the vocabulary. */
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

/** What `skipSpecialTokens` leaves out: tokens marked special, and those the config gives a part to. */
function skippedIds(
  { addedTokens, namedSpecial }: CheckedFiles,
  idOf: (token: string) => number | null,
): ReadonlySet<number> {
  const marked = addedTokens.filter(({ special }) => special).map(({ id }) => id)
  return new Set([...marked, ...namedSpecial.map(idOf).filter((id) => id !== null)])
}

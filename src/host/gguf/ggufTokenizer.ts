/**
 * Returns the tokenizer of a GGUF file as the files it was converted from, tokenizer.json and tokenizer_config.json. A
 * file has the vocabulary, but only the name of the rule that cuts texts into words; the names are those of llama.cpp's
 * `src/llama-vocab.cpp`, the rules those of the models' own tokenizer.json files. What is not known here is refused by
 * name.
 */
import { AppError, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import {
  mergedPieces,
  sentencePieces,
  specialParts,
  templateKey,
  tokenIdKey,
  tokenizerKey,
  tokenizerKeys,
  tokenTypes,
  wordPieces,
} from './ggufKeys.ts'
import type { GgufFile } from './ggufReader.ts'

/** The part of a file that describes its tokenizer. */
type TokenizerSource = Pick<GgufFile, 'file' | 'metadata'>

type Json = Readonly<Record<string, unknown>>

export interface GgufTokenizer {
  readonly tokenizerJson: Json
  /** Tokenizer config, with the chat template if the file has one. */
  readonly tokenizerConfig: Json
}

/** Rule that cuts texts into words before tokens are merged. */
interface Pretokenizer {
  readonly normalizer: Json | null
  readonly steps: readonly Json[]
  /** A word that is a token as a whole is not merged from parts. */
  readonly ignoresMerges?: boolean
  /** True if texts begin with bos when the file does not say. */
  readonly addsBos?: boolean
}

const bytes = (usesPattern: boolean): Json => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: usesPattern,
})
const split = (pattern: string): Json => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
})
const digits = { type: 'Digits', individual_digits: true }
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const upper = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const lower = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const rest = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'

/** Pattern of cl100k and those like it, with this many digits to a word. */
const words = (number: string): readonly Json[] => [
  split(`${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${number}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${rest}`),
  bytes(false),
]

/** The pattern of o200k and those like it: capitals begin words. */
const casedWords = (number: string, suffix: string): readonly Json[] => [
  split(
    `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${suffix}|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${suffix}|${number}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${rest}`,
  ),
  bytes(false),
]

const gpt2Words: Pretokenizer = { normalizer: null, steps: [bytes(true)] }
const gpt2WordsAndDigits: Pretokenizer = { normalizer: null, steps: [digits, bytes(true)] }
const llama3Words: Pretokenizer = {
  normalizer: null,
  steps: words('\\p{N}{1,3}'),
  ignoresMerges: true,
  addsBos: true,
}
const cl100kWords: Pretokenizer = { normalizer: null, steps: words('\\p{N}{1,3}') }
const qwen2Words: Pretokenizer = { normalizer: { type: 'NFC' }, steps: words('\\p{N}') }

/** Pretokenizers by `tokenizer.ggml.pre`. */
export const pretokenizers: ReadonlyMap<string, Pretokenizer> = new Map([
  ['gpt-2', gpt2Words],
  ['olmo', gpt2Words],
  ['smollm', gpt2WordsAndDigits],
  ['refact', gpt2WordsAndDigits],
  ['starcoder', gpt2WordsAndDigits],
  ['llama-bpe', llama3Words],
  ['llama3', llama3Words],
  ['llama-v3', llama3Words],
  ['dbrx', cl100kWords],
  ['smaug-bpe', cl100kWords],
  ['qwen2', qwen2Words],
  ['deepseek-r1-qwen', qwen2Words],
  ['stablelm2', { normalizer: null, steps: words('\\p{N}') }],
  ['gpt-4o', { normalizer: null, steps: casedWords('\\p{N}{1,3}', `${contractions}?`) }],
  ['tekken', { normalizer: null, steps: casedWords('\\p{N}', ''), ignoresMerges: true }],
])

/** Tokens that llama.cpp takes for the end of an answer, whichever id the file names. */
const endNames: ReadonlySet<string> = new Set([
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|eom_id|>',
  '<EOT>',
  '<eos>',
  '<turn|>',
  '<|tool_response>',
])

/** Ids of the tokens that end an answer by their names. */
export function endOfGeneration({ metadata }: Pick<GgufFile, 'metadata'>): number[] {
  const tokens = textsOf({ metadata }, tokenizerKeys.tokens)
  return tokens.flatMap((token, id) => (endNames.has(token) ? [id] : []))
}

/** null: the file has no tokenizer. Errors: AppError 'model/unsupported' for one that is not known, 'tokenizer/invalid'. */
export function ggufTokenizer(file: TokenizerSource): GgufTokenizer | null {
  const kind = tokenizerKind(file)
  if (kind === null) return null
  const vocabulary = readVocabulary(file)
  const tokenizerConfig = configOf(file, vocabulary)
  const model = kind === 'sentences' ? sentenceModel(file, vocabulary) : wordModel(file, kind, vocabulary)
  return {
    tokenizerConfig,
    tokenizerJson: { version: '1.0', truncation: null, padding: null, ...model },
  }
}

/**
 * Returns the kind of the file's tokenizer; null: it has none. Errors: AppError 'model/unsupported' naming what is not
 * known.
 */
export function tokenizerKind(file: TokenizerSource): Pretokenizer | 'sentences' | null {
  const [model, pre] = [textOf(file, tokenizerKeys.model), textOf(file, tokenizerKeys.pre)]
  if (model === null || model === 'none' || model === 'no_vocab') return null
  if (model === sentencePieces || model === mergedPieces) return 'sentences'
  if (model !== wordPieces) {
    throw unsupportedModel(
      `${file.file} has a vocabulary of the kind “${shorten(model)}”, which is not supported.`,
      'Supported are gpt2 (byte-pair encoding), llama and gemma4 (SentencePiece).',
    )
  }
  const found = pretokenizers.get(pre ?? '')
  if (found !== undefined) return found
  const what = pre === null ? 'does not name its pre-tokenizer' : `has the pre-tokenizer “${shorten(pre)}”`
  throw unsupportedModel(
    `${file.file} ${what}, so its texts cannot be cut into the right tokens.`,
    `Supported are ${[...pretokenizers.keys()].join(', ')}.`,
  )
}

interface Vocabulary {
  readonly tokens: readonly string[]
  /** Token type by id, for normal tokens and those that other parts of the file name. */
  readonly typeOf: (id: number) => number | undefined
}

function readVocabulary(file: TokenizerSource): Vocabulary {
  const tokens = textsOf(file, tokenizerKeys.tokens)
  if (tokens.length === 0) throw invalid(file, 'it has no tokens')
  const types = file.metadata.get(tokenizerKey(tokenizerKeys.types))
  const items = types?.type === 'array' && types.of === 'int32' ? types.items : null
  if (types !== undefined && items?.length !== tokens.length) {
    throw invalid(file, `it has ${tokens.length} tokens, but not as many types of tokens`)
  }
  return { tokens, typeOf: (id) => items?.[id] }
}

/** Special tokens by their parts, and the chat templates. */
function configOf(file: TokenizerSource, { tokens }: Vocabulary): Json {
  const named = specialParts.flatMap(([name, part]) => {
    const token = tokens[idOf(file, part) ?? -1]
    return token === undefined ? [] : [[name, token] as const]
  })
  return {
    ...Object.fromEntries(named),
    clean_up_tokenization_spaces: false,
    ...chatTemplates(file),
  }
}

function chatTemplates({ metadata }: Pick<GgufFile, 'metadata'>): Json {
  const templates = [...metadata].flatMap(([key, value]) => {
    if (value.type !== 'string') return []
    if (key === templateKey) return [{ name: 'default', template: value.value }]
    if (!key.startsWith(`${templateKey}.`)) return []
    return [{ name: key.slice(templateKey.length + 1), template: value.value }]
  })
  if (templates.length === 0) return {}
  const [only] = templates
  return { chat_template: templates.length === 1 && only?.name === 'default' ? only.template : templates }
}

/** Byte-pair encoding of words, in the merges' order. */
function wordModel(
  file: TokenizerSource,
  { normalizer, steps, ...rule }: Pretokenizer,
  vocabulary: Vocabulary,
): Json {
  const merges = textsOf(file, tokenizerKeys.merges)
  const isAdded = (id: number): boolean => isNamed(vocabulary.typeOf(id))
  return {
    added_tokens: addedTokens(vocabulary, takesSpaceOf(file)),
    normalizer,
    pre_tokenizer: { type: 'Sequence', pretokenizers: steps },
    post_processor: surround(file, vocabulary, rule.addsBos ?? false),
    decoder: bytes(true),
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      fuse_unk: false,
      byte_fallback: false,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      ignore_merges: rule.ignoresMerges ?? false,
      vocab: vocabularyObject(vocabulary, (id) => !isAdded(id)),
      merges,
    },
  }
}

const isNamed = (type: number | undefined): boolean =>
  type === tokenTypes.control || type === tokenTypes.userDefined

/** Tokens that are sought in a text before it is cut into words. */
function addedTokens({ tokens, typeOf }: Vocabulary, takesSpace: (token: string) => boolean): Json[] {
  return tokens.flatMap((content, id) => {
    const type = typeOf(id)
    if (content === '' || (!isNamed(type) && type !== tokenTypes.unknown)) return []
    return [
      {
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: takesSpace(content),
        normalized: false,
        special: type !== tokenTypes.userDefined,
      },
    ]
  })
}

const vocabularyObject = (
  { tokens, typeOf }: Vocabulary,
  isWanted: (id: number) => boolean,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    tokens.flatMap((token, id) =>
      typeOf(id) !== tokenTypes.unused && isWanted(id) ? [[token, id] as const] : [],
    ),
  )

/** Bos before a text and eos behind it, where the file asks for them. */
function surround(file: TokenizerSource, { tokens }: Vocabulary, addsBos: boolean): Json | null {
  const marks = (['bos', 'eos'] as const).map((part) => {
    const id = idOf(file, part)
    const token = id === null ? undefined : tokens[id]
    const isAdded =
      flagOf(file, part === 'bos' ? tokenizerKeys.addsBos : tokenizerKeys.addsEos) ??
      (part === 'bos' && addsBos)
    return isAdded && id !== null && token !== undefined ? { id, token } : null
  })
  if (marks.every((mark) => mark === null)) return null
  const sequence = (name: 'A' | 'B', type: number) => {
    const [before, after] = marks.map((mark) =>
      mark === null ? [] : [{ SpecialToken: { id: mark.token, type_id: type } }],
    )
    return [...(before ?? []), { Sequence: { id: name, type_id: type } }, ...(after ?? [])]
  }
  const special = marks.flatMap((mark) =>
    mark === null ? [] : [[mark.token, { id: mark.token, ids: [mark.id], tokens: [mark.token] }] as const],
  )
  return {
    type: 'TemplateProcessing',
    single: sequence('A', 0),
    pair: [...sequence('A', 0), ...sequence('B', 1)],
    special_tokens: Object.fromEntries(special),
  }
}

const mark = '▁'

/** Returns SentencePiece's byte-pair encoding, which merges across words by the score of the result. */
function sentenceModel(file: TokenizerSource, vocabulary: Vocabulary): Json {
  const { tokens, typeOf } = vocabulary
  const isMerged = textOf(file, tokenizerKeys.model) === mergedPieces
  const hasSpace = flagOf(file, tokenizerKeys.addsSpace) ?? !isMerged
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: mark }
  const decoders = [
    { type: 'Replace', pattern: { String: mark }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
  ]
  const unknown = tokens[idOf(file, 'unknown') ?? -1] ?? null
  return {
    added_tokens: addedTokens(vocabulary, takesSpaceOf(file)),
    normalizer: hasSpace
      ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: mark }, replace] }
      : replace,
    pre_tokenizer: null,
    post_processor: surround(file, vocabulary, true),
    decoder: {
      type: 'Sequence',
      decoders: hasSpace ? [...decoders, { type: 'Strip', content: ' ', start: 1, stop: 0 }] : decoders,
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown,
      fuse_unk: true,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      ignore_merges: false,
      byte_fallback: tokens.some((_, id) => typeOf(id) === tokenTypes.byte),
      vocab: vocabularyObject(vocabulary, () => true),
      merges: isMerged ? mergesOf(file) : mergesByScore(file, vocabulary),
    },
  }
}

/** The converter does not keep that special tokens of Phi 3, but not of Phi 4, take the white space behind them along. */
function takesSpaceOf(file: TokenizerSource): (token: string) => boolean {
  const family = file.metadata.get('general.architecture')
  const isPhi3 =
    family?.type === 'string' && family.value === 'phi3' && textOf(file, tokenizerKeys.pre) !== 'dbrx'
  return (token) => isPhi3 && (token === '</s>' || (token.startsWith('<|') && token !== '<|endoftext|>'))
}

function mergesOf(file: TokenizerSource): readonly string[] {
  const merges = textsOf(file, tokenizerKeys.merges)
  if (merges.length === 0) throw invalid(file, 'its tokens have no merges')
  return merges
}

/** Lists every way in which two tokens make a third, the highest score of the third first, as transformers does. */
function mergesByScore(file: TokenizerSource, { tokens, typeOf }: Vocabulary): [string, string][] {
  const scores = file.metadata.get(tokenizerKey(tokenizerKeys.scores))
  if (scores?.type !== 'array' || scores.of !== 'float32' || scores.items.length !== tokens.length) {
    throw invalid(file, 'its tokens have no scores')
  }
  const { items } = scores
  const isPart = (id: number): boolean =>
    [tokenTypes.control, tokenTypes.unknown, tokenTypes.byte].every((type) => typeOf(id) !== type)
  const ids = new Map(tokens.flatMap((token, id) => (isPart(id) ? [[token, id] as const] : [])))
  const ordered = [...ids.values()].sort((a, b) => (items[b] ?? 0) - (items[a] ?? 0) || a - b)
  return ordered.flatMap((id) => {
    const characters = [...(tokens[id] ?? '')]
    const found: [string, string][] = []
    let left = ''
    for (const character of characters.slice(0, -1)) {
      left += character
      const right = (tokens[id] ?? '').slice(left.length)
      if (ids.has(left) && ids.has(right)) found.push([left, right])
    }
    const placeOf = ([a, b]: [string, string]): number =>
      (ids.get(a) ?? 0) * tokens.length + (ids.get(b) ?? 0)
    return found.sort((a, b) => placeOf(a) - placeOf(b))
  })
}

const invalid = ({ file }: Pick<GgufFile, 'file'>, fault: string): AppError =>
  new AppError('tokenizer/invalid', `The tokenizer of ${file} cannot be used: ${fault}.`)

// Values under `tokenizer.ggml.`; one of another type counts as absent.

function textOf({ metadata }: Pick<GgufFile, 'metadata'>, key: string): string | null {
  const value = metadata.get(tokenizerKey(key))
  return value?.type === 'string' ? value.value : null
}

function textsOf({ metadata }: Pick<GgufFile, 'metadata'>, key: string): readonly string[] {
  const value = metadata.get(tokenizerKey(key))
  return value?.type === 'array' && value.of === 'string' ? value.items : []
}

function flagOf({ metadata }: Pick<GgufFile, 'metadata'>, key: string): boolean | null {
  const value = metadata.get(tokenizerKey(key))
  return value?.type === 'bool' ? value.value : null
}

function idOf(
  { metadata }: Pick<GgufFile, 'metadata'>,
  part: 'bos' | 'eos' | 'unknown' | 'padding',
): number | null {
  const value = metadata.get(tokenIdKey(part))
  return value?.type === 'uint32' ? value.value : null
}

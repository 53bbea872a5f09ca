/**
 * A tokenizer.json as a GGUF file keeps it: `ggufTokenizer.ts` backwards. The file only names what cuts texts into words, so
 * of the known names the first is taken under which the tokenizer, read back, gives the same ids for texts of many kinds.
 */
import { AppError, unsupportedModel } from '#shared/errors.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { type ChatTemplateFiles, namedTemplates } from '#engine/text/chatTemplate.ts'
import { isRecord } from '#engine/text/pipelineLimits.ts'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from '#engine/text/tokenizer.ts'
import type { GgufArray, GgufValue } from './gguf.ts'
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
import { ggufNaming } from './ggufNames.ts'
import { endOfGeneration, ggufTokenizer, pretokenizers } from './ggufTokenizer.ts'

type TextFiles = TokenizerFiles & ChatTemplateFiles

type Entry = readonly [string, GgufValue]

const flag = (value: boolean): GgufValue => ({ type: 'bool', value })
const text = (value: string): GgufValue => ({ type: 'string', value })
const list = (key: string, value: GgufArray): Entry => [tokenizerKey(key), value]

/**
 * Writes the tokenizer's metadata, which follows that of the model. Errors: AppError 'tokenizer/invalid',
 * 'model/unsupported' for texts cut in a way that llama.cpp has no name for.
 */
export function describeTokenizer(
  files: TextFiles,
  model: ModelConfig,
  words: ReadonlyMap<string, GgufValue>,
): ReadonlyMap<string, GgufValue> {
  const { where } = files
  const original = createTokenizer(files)
  const parts = readParts(files, model)
  const common = [
    ...words,
    ...tokenEntries(parts),
    ...specialEntries(files, original, model),
    ...templateEntries(files),
  ]
  const probes = probesOf(original, parts)
  const wanted = probes.map((probe) => idsOf(original, probe))
  for (const way of waysOf(files, parts)) {
    const metadata = new Map([...common, ...way])
    const again = tokenizerIn(metadata, where)
    if (again !== null && probes.every((probe, at) => idsOf(again, probe) === wanted[at]))
      return withEndOfTurn(metadata, model)
  }
  throw unsupportedModel(
    `The tokenizer of ${where} cuts texts in a way that llama.cpp has no name for, so a GGUF file of it would give other tokens.`,
    'Export it as a merged model instead.',
  )
}

interface Parts {
  /** [V], as many as the embedding table has rows. */
  readonly tokens: readonly string[]
  readonly types: readonly number[]
  readonly merges: readonly string[]
  readonly kind: typeof wordPieces | typeof sentencePieces | typeof mergedPieces
}

/** Marks of thoughts and tool calls, which llama.cpp's parser of Gemma 4 has to see in an answer. */
const shownTokens: ReadonlySet<string> = new Set([
  '<|channel>',
  '<channel|>',
  '<|tool_call>',
  '<tool_call|>',
  '<|tool_response>',
  '<tool_response|>',
  '<|"|>',
])

/** Type of a token in a file whose vocabulary is of this kind. */
const typeIn = (kind: Parts['kind'], token: string, type: number): number =>
  kind === mergedPieces && shownTokens.has(token) ? tokenTypes.userDefined : type

function kindOf(model: Json, config: ModelConfig): Parts['kind'] {
  if (!isOfSentences(model)) return wordPieces
  return ggufNaming(config).name === 'gemma4' ? mergedPieces : sentencePieces
}

function readParts({ tokenizerJson, where }: TextFiles, config: ModelConfig): Parts {
  const { vocabSize } = config
  const json = isRecord(tokenizerJson) ? tokenizerJson : {}
  const model = isRecord(json['model']) ? json['model'] : {}
  if (model['type'] !== 'BPE') {
    throw unsupportedModel(
      `The tokenizer of ${where} is not byte-pair encoding, which is the only kind that is written as GGUF.`,
    )
  }
  const tokens = Array.from({ length: vocabSize }, (_, id) => `[PAD${id}]`)
  const types = tokens.map((): number => tokenTypes.unused)
  const kind = kindOf(model, config)
  for (const { id, token, type } of [...piecesOf(model), ...addedTokens(json['added_tokens'], model)]) {
    if (typeof id !== 'number' || id >= vocabSize) continue
    tokens[id] = token
    types[id] = typeIn(kind, token, type)
  }
  const merges = listOf(model['merges']).map((merge) =>
    Array.isArray(merge) ? merge.join(' ') : String(merge),
  )
  return { tokens, types, merges, kind }
}

type Json = Readonly<Record<string, unknown>>

interface TypedToken {
  readonly id: unknown
  readonly token: string
  readonly type: number
}

const isOfSentences = (model: Json): boolean => model['byte_fallback'] === true
const isUnknown = (token: string, model: Json): boolean =>
  isOfSentences(model) && token === model['unk_token']

function piecesOf(model: Json): TypedToken[] {
  const vocabulary = isRecord(model['vocab']) ? model['vocab'] : {}
  return Object.entries(vocabulary).map(([token, id]) => {
    const isByte = isOfSentences(model) && /^<0x[0-9A-F]{2}>$/.test(token)
    const other = isUnknown(token, model) ? tokenTypes.unknown : tokenTypes.normal
    return { id, token, type: isByte ? tokenTypes.byte : other }
  })
}

const addedTokens = (added: unknown, model: Json): TypedToken[] =>
  listOf(added).flatMap((each) => {
    if (!isRecord(each) || typeof each['content'] !== 'string') return []
    const { id, content: token, special } = each as Json & { readonly content: string }
    const type = special === true ? tokenTypes.control : tokenTypes.userDefined
    return [{ id, token, type: isUnknown(token, model) ? tokenTypes.unknown : type }]
  })

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

function tokenEntries({ tokens, types, merges, kind }: Parts): Entry[] {
  return [
    [tokenizerKey(tokenizerKeys.model), text(kind)],
    list(tokenizerKeys.tokens, { type: 'array', of: 'string', items: tokens }),
    list(tokenizerKeys.types, { type: 'array', of: 'int32', items: Int32Array.from(types) }),
    ...(kind === wordPieces
      ? []
      : [list(tokenizerKeys.scores, { type: 'array', of: 'float32', items: scoresOf(tokens, merges) })]),
    ...(kind === sentencePieces
      ? []
      : [list(tokenizerKeys.merges, { type: 'array', of: 'string', items: merges })]),
  ]
}

/** Returns the scores: what is merged first has the highest; tokens that nothing is merged to have the lowest. */
function scoresOf(tokens: readonly string[], merges: readonly string[]): Float32Array {
  const ranks = new Map<string, number>()
  for (const [rank, merge] of merges.entries()) {
    const token = merge.replace(' ', '')
    if (!ranks.has(token)) ranks.set(token, rank)
  }
  return Float32Array.from(tokens, (token) => -(ranks.get(token) ?? merges.length))
}

/** Ids of special tokens, and which of them surround a text. */
function specialEntries(files: TextFiles, original: Tokenizer, model: ModelConfig): Entry[] {
  const [inside, around] = [false, true].map((adds) => encoded(original, '1', adds))
  const before = Math.max(0, around?.indexOf(inside?.[0] ?? -1) ?? 0)
  const surplus = (around?.length ?? 0) - (inside?.length ?? 0)
  return [
    ...specialIds(files, original, model),
    [tokenizerKey(tokenizerKeys.addsBos), flag(before > 0)],
    [tokenizerKey(tokenizerKeys.addsEos), flag(surplus > before)],
  ]
}

function specialIds({ tokenizerConfig }: TextFiles, original: Tokenizer, model: ModelConfig): Entry[] {
  const config = isRecord(tokenizerConfig) ? tokenizerConfig : {}
  const fallback = { bos: model.bosId, eos: model.eosIds[0] ?? null, unknown: null, padding: model.padId }
  return specialParts.flatMap(([name, part]): Entry[] => {
    const given = config[name]
    const token = isRecord(given) ? given['content'] : given
    const id = (typeof token === 'string' ? original.tokenToId(token) : null) ?? fallback[part]
    return id === null ? [] : [[tokenIdKey(part), { type: 'uint32', value: id }]]
  })
}

/** A model may end its turn otherwise than a text: by a token that llama.cpp does not know by its name. */
function withEndOfTurn(metadata: Map<string, GgufValue>, { eosIds }: ModelConfig): Map<string, GgufValue> {
  const eos = metadata.get(tokenIdKey('eos'))
  const known = new Set([...endOfGeneration({ metadata }), eos?.type === 'uint32' ? eos.value : -1])
  const other = eosIds.find((id) => !known.has(id))
  if (other !== undefined) metadata.set(tokenIdKey('eot'), { type: 'uint32', value: other })
  return metadata
}

function templateEntries(files: TextFiles): Entry[] {
  const templates = namedTemplates(files)
  const named = [...templates.keys()].filter((name) => name !== 'default')
  const entries = [...templates].map(([name, template]): Entry => [
    name === 'default' ? templateKey : `${templateKey}.${name}`,
    text(template),
  ])
  if (named.length === 0) return entries
  return [...entries, [`${templateKey}s`, { type: 'array', of: 'string', items: named }]]
}

/** The ways in which a file can say how texts are cut, the likeliest first. */
function waysOf({ tokenizerJson }: TextFiles, { kind }: Parts): readonly (readonly Entry[])[] {
  if (kind !== wordPieces) {
    return [true, false].map((adds) => [
      ...(kind === sentencePieces ? [[tokenizerKey(tokenizerKeys.pre), text('default')] as const] : []),
      [tokenizerKey(tokenizerKeys.addsSpace), flag(adds)],
    ])
  }
  const given = signatureOf(tokenizerJson)
  // Several names stand for one way.
  const seen = new Set<unknown>()
  const names = [...pretokenizers].filter(([, way]) => !seen.has(way) && seen.add(way))
  const isLikely = ([, { normalizer, steps, ignoresMerges = false }]: (typeof names)[number]): boolean => {
    const model = { ignore_merges: ignoresMerges }
    return given === signatureOf({ normalizer, pre_tokenizer: { pretokenizers: steps }, model })
  }
  return [...names.filter(isLikely), ...names.filter((name) => !isLikely(name))].map(([name]) => [
    [tokenizerKey(tokenizerKeys.pre), text(name)],
  ])
}

/** Returns the part of a tokenizer.json that tells the pretokenizers apart. */
function signatureOf(tokenizerJson: unknown): string {
  const partOf = (whole: unknown, key: string): Readonly<Record<string, unknown>> =>
    isRecord(whole) && isRecord(whole[key]) ? whole[key] : {}
  const cutter = partOf(tokenizerJson, 'pre_tokenizer')
  const steps = cutter['pretokenizers'] === undefined ? [cutter] : listOf(cutter['pretokenizers'])
  return JSON.stringify([
    partOf(tokenizerJson, 'normalizer')['type'] ?? null,
    steps.map((step) => [
      partOf({ step }, 'step')['type'],
      partOf(step, 'pattern')['Regex'] ?? null,
      partOf({ step }, 'step')['use_regex'] ?? null,
    ]),
    partOf(tokenizerJson, 'model')['ignore_merges'] === true,
  ])
}

function tokenizerIn(metadata: ReadonlyMap<string, GgufValue>, where: string): Tokenizer | null {
  const found = ggufTokenizer({ file: where, metadata })
  return found === null ? null : createTokenizer({ ...found, where })
}

/** Encodes a text; what a small vocabulary cannot spell becomes nothing. */
function encoded(tokenizer: Tokenizer, probe: string, addSpecialTokens: boolean): Int32Array {
  try {
    return tokenizer.encode(probe, { addSpecialTokens })
  } catch (error) {
    if (error instanceof AppError) return new Int32Array()
    throw error
  }
}

/** Ids as text, for comparison. */
const idsOf = (tokenizer: Tokenizer, probe: string): string => encoded(tokenizer, probe, true).join()

const texts = [
  'Hello world, this is a test.',
  "I'd say it's 12345.678 and they'LL agree; we've 3 of 1,000,000 (100%).",
  ' two  spaces   and\n\nlines\r\n\ttabs \n  end  ',
  'naïve façade cafe\u0301, 東京は日本の首都です。 Привет мир! مرحبا हिन्दी में 한국어 👩‍🚀🎉',
  'for (let i = 0; i < 10; i++) { total += camelCase[i] }\n// HTTPServer/path/to\n',
  '<b>"quoted"</b> a_b-c $x^2$ \\frac{1}{2} ½ ² Ⅷ ¿qué?!... --- ***',
  'What is 17 + 25? The answer is 42.',
] as const

const longestProbe = 20_000

/** Texts of many kinds, the whole vocabulary, and special tokens inside a text. */
function probesOf(original: Tokenizer, { tokens, types }: Parts): string[] {
  const ids = tokens.map((_, id) => id)
  const spelled = original.decode(
    ids.filter((id) => types[id] === tokenTypes.normal),
    { skipSpecialTokens: true },
  )
  const special = ids.filter((id) => types[id] === tokenTypes.control || types[id] === tokenTypes.userDefined)
  // Without spaces: that some special tokens take those beside them along is not in a file.
  const between = special.slice(0, 64).map((id) => `${tokens[id] ?? ''}text${id}`)
  return [...texts, spelled.slice(0, longestProbe), spelled.slice(-longestProbe), between.join('')]
}

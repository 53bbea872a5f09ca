import { isRecord } from '../pipelineLimits.ts'
import { byteOfToken, spellBytes } from './decoders.ts'
import { mergeWord, PairTable } from './mergeQueue.ts'
import type { StepConfig } from './steps.ts'

/** Texts to ids, without looking at special tokens. */
export interface PieceEncoder {
  encode(piece: string, ids: IdBuffer): void
}

interface Model {
  readonly vocab: ReadonlyMap<string, number>
  readonly merges: PairTable
  /** Ids of the tokens <0x00> to <0xFF>; null where one is missing or they are not used. */
  readonly byteIds: readonly number[] | null
  readonly unknownId: number | null
  readonly fusesUnknown: boolean
  readonly ignoresMerges: boolean
  readonly isByteLevel: boolean
}

/** The BPE model of a tokenizer.json; null when it is another model or has a feature unknown here. */
export function createBpe(config: StepConfig, isByteLevel: boolean): PieceEncoder | null {
  const read = readModel(config, isByteLevel)
  if (read === null) return null
  const { model, tokens } = read
  const remembered = new PieceMemory()
  const encodeWhole = (piece: string, ids: IdBuffer) => {
    const known = remembered.get(piece)
    const found = known ?? encodePiece(piece, model)
    if (known === undefined) remembered.set(piece, found)
    ids.pushAll(found)
  }
  if (isByteLevel || model.ignoresMerges) return { encode: encodeWhole }
  const cut = wordCutter(model, tokens)
  return cut === null
    ? { encode: encodeWhole }
    : { encode: (piece, ids) => cut(piece, (word) => encodeWhole(word, ids)) }
}

interface ReadModel {
  readonly model: Model
  /** Tokens made by merges. */
  readonly tokens: readonly string[]
}

function readModel(config: StepConfig, isByteLevel: boolean): ReadModel | null {
  const { vocab: entries, merges: pairs, unk_token } = config
  if (config['type'] !== 'BPE' || !isRecord(entries) || !Array.isArray(pairs) || hasAffixes(config))
    return null
  const vocab = new Map(Object.entries(entries)) as Map<string, number>
  const unknownId = typeof unk_token === 'string' ? vocab.get(unk_token) : null
  const merges = readMerges(pairs, vocab)
  const byteIds = config['byte_fallback'] === true ? idsOfBytes(vocab) : null
  if (unknownId === undefined || merges === null || byteIds === undefined) return null
  return {
    tokens: merges.tokens,
    model: {
      vocab,
      unknownId,
      isByteLevel,
      byteIds,
      merges: merges.table,
      fusesUnknown: config['fuse_unk'] === true,
      ignoresMerges: config['ignore_merges'] === true,
    },
  }
}

const hasAffixes = (config: StepConfig): boolean =>
  ['continuing_subword_prefix', 'end_of_word_suffix', 'continuing_subword_suffix'].some(
    (name) => config[name] !== undefined && config[name] !== null && config[name] !== '',
  )

function readMerges(pairs: readonly unknown[], vocab: ReadonlyMap<string, number>) {
  const table = new PairTable(pairs.length)
  const tokens: string[] = []
  for (const [rank, pair] of pairs.entries()) {
    const parts = partsOf(pair)
    if (parts === null) return null
    const [left, right] = parts
    const [leftId, rightId, merged] = [vocab.get(left), vocab.get(right), vocab.get(left + right)]
    if (leftId === undefined || rightId === undefined || merged === undefined) return null
    table.set(leftId, rightId, { rank, merged })
    tokens.push(left + right)
    // A byte may stand where its token's spelling does not: see wordCutter.
    if (byteOfToken(left) !== null || byteOfToken(right) !== null) tokens.push(anything)
  }
  return { table, tokens }
}

/** The two tokens of a merge, from either form; null where there are not two. */
function partsOf(pair: unknown): readonly [string, string] | null {
  const parts: readonly unknown[] =
    typeof pair === 'string' ? pair.split(' ') : Array.isArray(pair) ? pair : []
  const [left, right] = parts
  return parts.length === 2 && typeof left === 'string' && typeof right === 'string' ? [left, right] : null
}

/**
 * Returns the ids of the bytes; null where there are none. Undefined where some are missing: no published file is so,
 * and its meaning is not known here.
 */
function idsOfBytes(vocab: ReadonlyMap<string, number>): number[] | null | undefined {
  const ids = Array.from({ length: 256 }, (_, byte) =>
    vocab.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  ).filter((id) => id !== undefined)
  if (ids.length === 0) return null
  return ids.length === 256 ? ids : undefined
}

function encodePiece(piece: string, model: Model): Int32Array {
  const spelled = model.isByteLevel ? spellBytes(piece) : piece
  const whole = model.ignoresMerges ? model.vocab.get(spelled) : undefined
  if (whole !== undefined) return Int32Array.of(whole)
  const word = symbolsOf(spelled, model)
  const length = mergeWord(word, model.merges)
  return Int32Array.from(word.slice(0, length))
}

/** One id for each character; bytes for those without, or the unknown token. */
function symbolsOf(spelled: string, { vocab, byteIds, unknownId, fusesUnknown }: Model): number[] {
  const ids: number[] = []
  // An unknown token waits here, since those that follow may join it. Bytes do not make it come forth.
  let hasUnknown = false
  const release = () => {
    if (hasUnknown && unknownId !== null) ids.push(unknownId)
    hasUnknown = false
  }
  for (const character of spelled) {
    const id = vocab.get(character)
    if (id !== undefined) {
      release()
      ids.push(id)
    } else if (byteIds !== null) {
      for (const byte of encoder.encode(character)) ids.push(byteIds[byte]!)
    } else {
      if (!fusesUnknown) release()
      hasUnknown = true
    }
  }
  release()
  return ids
}

const encoder = new TextEncoder()
const mark = '\u2581'
/** Represents a token that may contain any pair of characters. */
const anything = ''

/**
 * Without a pre-tokenizer a whole text is one word. Where a mark (▁, a space) or a line begins and no token holds the
 * two characters there next to each other, no merge can reach across: the parts can be encoded one by one, and
 * remembered. Null where nothing can be said.
 */
function wordCutter({ vocab, byteIds }: Model, tokens: readonly string[]) {
  if (!vocab.has(mark) || tokens.includes(anything)) return null
  const bridges = bridgesOf(tokens)
  // Unknown characters may be joined to one token; bytes and known characters never are.
  const seesLines = byteIds !== null || vocab.has(newline)
  const border = seesLines ? /\u2581|\n(?!\n)/g : /\u2581/g
  const isCut = (text: string, at: number) => at > 0 && at < text.length && !bridges.has(bridgeAt(text, at))
  return (text: string, visit: (word: string) => void): void => {
    let start = 0
    border.lastIndex = 0
    for (let found = border.exec(text); found !== null; found = border.exec(text)) {
      const at = text.charCodeAt(found.index) === newlineCode ? found.index + 1 : found.index
      if (at === start || !isCut(text, at)) continue
      visit(text.slice(start, at))
      start = at
    }
    if (start < text.length) visit(text.slice(start))
  }
}

/** The two code units left and right of a place. */
const bridgeAt = (text: string, at: number): number => text.charCodeAt(at - 1) * 0x10000 + text.charCodeAt(at)

/** Pairs of neighbours within tokens that begin a word or end a line. */
function bridgesOf(tokens: readonly string[]): Set<number> {
  // Two marks in a row are one stretch of space, and often a token of their own.
  const bridges = new Set<number>([bridgeAt(mark + mark, 1)])
  for (const token of tokens) {
    for (let at = 1; at < token.length; at++) {
      if (token[at] === mark || token[at - 1] === newline) bridges.add(bridgeAt(token, at))
    }
  }
  return bridges
}

const newline = '\n'
const newlineCode = 10

/** Ids of pieces seen lately: two generations, of which the older is forgotten when the younger is full. */
class PieceMemory {
  #young = new Map<string, Int32Array>()
  #old = new Map<string, Int32Array>()

  get(piece: string): Int32Array | undefined {
    const young = this.#young.get(piece)
    if (young !== undefined) return young
    const old = this.#old.get(piece)
    if (old !== undefined) this.set(piece, old)
    return old
  }

  set(piece: string, ids: Int32Array): void {
    if (piece.length > longestRemembered) return
    if (this.#young.size >= generationSize) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(piece, ids)
  }
}

const longestRemembered = 64
const generationSize = 32_768

/** A list of ids that grows. */
export class IdBuffer {
  #ids: Int32Array
  #length = 0

  constructor(capacity = 64) {
    this.#ids = new Int32Array(Math.max(1, capacity))
  }

  push(id: number): void {
    if (this.#length === this.#ids.length) this.#grow(this.#length + 1)
    this.#ids[this.#length++] = id
  }

  pushAll(ids: ArrayLike<number>): void {
    const length = this.#length + ids.length
    if (length > this.#ids.length) this.#grow(length)
    for (let at = 0; at < ids.length; at++) this.#ids[this.#length + at] = ids[at]!
    this.#length = length
  }

  /** A copy of the ids. */
  toArray(): Int32Array {
    return this.#ids.slice(0, this.#length)
  }

  #grow(needed: number): void {
    const grown = new Int32Array(Math.max(needed, this.#ids.length * 2))
    grown.set(this.#ids)
    this.#ids = grown
  }
}

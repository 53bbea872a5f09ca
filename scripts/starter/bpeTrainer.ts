/**
 * A byte-level BPE trainer (Sennrich et al. 2016, arXiv:1508.07909; over bytes as in GPT-2), small enough to read:
 * it recounts all pairs after every merge, which is instant for the few thousand words of the starter corpus.
 * Writes a tokenizer.json that every Hugging Face tokenizer reads.
 */
import { specialToken } from '#host/models/smallTokenizers.ts'

/** Words with a leading space, single digits with a leading space, runs of other signs, white space. The same text is a JavaScript and an Oniguruma pattern. */
const splitPattern = String.raw` ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

/** GPT-2's reversible renaming of bytes: printable ones keep their character, the others move above U+0100. */
const byteCharacters: readonly string[] = (() => {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let moved = 0
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(isPrintable(byte) ? byte : 0x100 + moved++),
  )
})()

interface BpeOptions {
  /** Bytes, special tokens and merges together. Fewer come out when the corpus has no pair left. */
  readonly vocabSize: number
  /** They take the first ids, in this order. */
  readonly specialTokens: readonly string[]
}

interface CountedWord {
  symbols: string[]
  readonly count: number
}

/** The tokenizer.json of a tokenizer trained on `texts`; equal texts give equal bytes. */
export function trainBpe(texts: Iterable<string>, { vocabSize, specialTokens }: BpeOptions): object {
  const words = countWords(texts)
  const merges: [string, string][] = []
  const tokens = [...specialTokens, ...byteCharacters]
  while (tokens.length < vocabSize) {
    const best = mostFrequentPair(words)
    if (best === undefined) break
    for (const word of words) word.symbols = mergePair(word.symbols, best)
    merges.push([best[0], best[1]])
    tokens.push(best[0] + best[1])
  }
  return tokenizerJson(tokens, merges, specialTokens)
}

function countWords(texts: Iterable<string>): CountedWord[] {
  const encoder = new TextEncoder()
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const [piece] of text.matchAll(new RegExp(splitPattern, 'gu'))) {
      counts.set(piece, (counts.get(piece) ?? 0) + 1)
    }
  }
  return [...counts].map(([piece, count]) => ({
    symbols: Array.from(encoder.encode(piece), (byte) => byteCharacters[byte] ?? ''),
    count,
  }))
}

/** The most frequent neighbours; among equals the pair that comes first in code-unit order. Undefined below two occurrences. */
function mostFrequentPair(words: readonly CountedWord[]): readonly [string, string] | undefined {
  const counts = countPairs(words)
  const highest = Math.max(0, ...counts.values())
  if (highest < 2) return undefined
  const ties = [...counts].filter(([, count]) => count === highest).map(([key]) => key)
  const [left = '', right = ''] = (ties.sort()[0] ?? '').split(' ')
  return [left, right]
}

/** Occurrences of each pair of neighbours, keyed by both symbols around a space, which no symbol contains. */
function countPairs(words: readonly CountedWord[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { symbols, count } of words) {
    symbols.slice(1).forEach((right, at) => {
      const key = `${symbols[at] ?? ''} ${right}`
      counts.set(key, (counts.get(key) ?? 0) + count)
    })
  }
  return counts
}

function mergePair(symbols: readonly string[], [left, right]: readonly [string, string]): string[] {
  const merged: string[] = []
  for (let at = 0; at < symbols.length; at++) {
    const symbol = symbols[at] ?? ''
    if (symbol === left && symbols[at + 1] === right) {
      merged.push(left + right)
      at++
    } else {
      merged.push(symbol)
    }
  }
  return merged
}

function tokenizerJson(
  tokens: readonly string[],
  merges: readonly (readonly [string, string])[],
  specialTokens: readonly string[],
): object {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => specialToken(id, content)),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: splitPattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  }
}

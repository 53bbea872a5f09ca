import { randomStream, SequentialRandom } from '#shared/random.ts'
import { AppError } from '#shared/errors.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'

/** What every export is asked to go on with: prose, numbers, code, other scripts. */
const texts = [
  'The capital of France is',
  'Sort these numbers: 8 0 5 7',
  '12 + 30 =',
  'def add(a, b):\n    return',
  '{"name": "Ada", "year":',
  'Once upon a time, in a village by the sea,',
  'Die Katze sitzt auf dem',
  '東京は日本の',
] as const

/** Tokens of a text that are used at most, and that are generated after it, where the context has room for them. */
const [longestPrompt, longestContinuation] = [24, 16]

export interface ParityPrompts {
  /** null: the model has no tokenizer, so the ids are random ones of a fixed seed. */
  readonly texts: readonly string[] | null
  /** Two ids at least each. */
  readonly ids: readonly Int32Array[]
  /** Tokens to generate after each. */
  readonly continuation: number
}

/** The fixed prompts in a model's tokens. */
export function parityPrompts({ directory, tokenizerFile, config }: ModelFolder): ParityPrompts {
  const continuation = Math.max(1, Math.min(longestContinuation, config.contextLength - 2))
  const length = Math.max(2, Math.min(longestPrompt, config.contextLength - continuation))
  const random = Array.from(texts, (_, index) => randomIds(index, config.vocabSize).slice(0, length))
  if (tokenizerFile === null) return { texts: null, ids: random, continuation }
  const { tokenizer } = loadTokenizer(directory)
  const ids = texts.map((text, index) => {
    const encoded = encode(() => tokenizer.encode(text, { addSpecialTokens: true }))
    const isUsable = encoded.length >= 2 && encoded.every((id) => id >= 0 && id < config.vocabSize)
    return isUsable ? encoded.slice(0, length) : (random[index] ?? encoded)
  })
  return { texts, ids, continuation }
}

/** A small vocabulary need not know every text. */
function encode(work: () => Int32Array): Int32Array {
  try {
    return work()
  } catch (error) {
    if (error instanceof AppError) return new Int32Array()
    throw error
  }
}

function randomIds(place: number, vocabSize: number): Int32Array {
  const random = new SequentialRandom(randomStream(0x70617269, place))
  return Int32Array.from({ length: 4 + place }, () => random.integer(vocabSize))
}

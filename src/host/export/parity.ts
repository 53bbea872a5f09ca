/** Compares what was read back with what was trained: numbers, limits and the sentences that go with them. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { AppError } from '#shared/errors.ts'
import { type LoraConfig, adaptedLinears, type ModelConfig } from '#engine/models/config.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import type { ParityLine } from './exports.ts'

/** Whatever can answer for a model: the live policy, or an exported artefact behind its own reader. */
export interface ParityReader {
  /** log-probability of every token but the first, [L−1] each. */
  score(sequences: readonly Int32Array[]): Promise<readonly Float64Array[]>
  /** The most probable next tokens, `count` of each prompt. */
  proceed(prompts: readonly Int32Array[], count: number): Promise<readonly Int32Array[]>
}

/** Answers of the live policy, base and adapter. */
export interface LiveAnswers {
  readonly prompts: readonly Int32Array[]
  /** The prompts with the policy's own greedy continuations. */
  readonly sequences: readonly Int32Array[]
  readonly logprobs: readonly Float64Array[]
  readonly greedy: readonly Int32Array[]
  /** Largest difference that the adapter makes to a log-probability: what an export without it would be off by. */
  readonly adapterEffect: number
}

/** Half of the distance between neighbouring numbers, relative: 2^−(bits of the significand). */
export const unitRoundoff = { F32: 2 ** -24, F16: 2 ** -11, BF16: 2 ** -8 } as const
export type FloatType = keyof typeof unitRoundoff

/** Allowed of exports whose numbers are all f32: other orders of adding up, nothing else. */
const exactLimit = 1e-4

/**
 * Allowed difference of a log-probability. Where matrices were rounded to a half type, each moves its output by about the
 * type's unit roundoff u, relative; n of them, independent, by √n·u, of numbers as large as the log-probabilities.
 */
export function logprobLimit(
  type: FloatType,
  { logprobs }: Pick<LiveAnswers, 'logprobs'>,
  roundedMatrices: number,
): number {
  if (type === 'F32') return exactLimit
  const largest = logprobs.flatMap((row) => [...row]).reduce((most, value) => Math.max(most, -value), 1)
  return exactLimit + unitRoundoff[type] * Math.sqrt(roundedMatrices) * largest
}

export const adaptedMatrices = (model: ModelConfig, lora: LoraConfig): number =>
  Array.from({ length: model.layers }, (_, layer) => adaptedLinears(model, lora, layer)).flat().length

export const largestDifference = (ours: readonly Float64Array[], theirs: readonly Float64Array[]): number => {
  const differences = ours.flatMap((row, index) =>
    Array.from(row, (value, at) => Math.abs(value - (theirs[index]?.[at] ?? NaN))),
  )
  // A number that is missing or none at all is as wrong as can be.
  return differences.reduce(
    (most, value) => (value <= most ? most : Number.isNaN(value) ? Infinity : value),
    0,
  )
}

function meanDifference(ours: readonly Float64Array[], theirs: readonly Float64Array[]): number {
  const differences = ours.flatMap((row, index) =>
    Array.from(row, (value, at) => Math.abs(value - (theirs[index]?.[at] ?? NaN))),
  )
  const mean = differences.reduce((sum, value) => sum + value, 0) / Math.max(1, differences.length)
  return Number.isNaN(mean) ? Infinity : mean
}

export const parityLine = (sentence: string, measured: number, limit: number): ParityLine => ({
  sentence,
  // JSON has no infinity.
  measured: Number.isFinite(measured) ? measured : Number.MAX_VALUE,
  limit,
  passed: measured <= limit,
})

/** Allowed differences of log-probabilities, in nats. */
export interface AnswerLimits {
  readonly largest: number
  /** Limit of the mean; null: that of `largest`. */
  readonly mean: number | null
}

/** Scores and continues the same prompts with what was read back. */
export async function compareAnswers(
  live: LiveAnswers,
  reader: ParityReader,
  { largest: limit, mean }: AnswerLimits,
): Promise<readonly ParityLine[]> {
  const scores = await reader.score(live.sequences)
  const tokens = live.logprobs.reduce((sum, { length }) => sum + length, 0)
  const logprobs = parityLine(
    `Log-probabilities of ${tokens} tokens of ${live.prompts.length} texts, in nats.`,
    largestDifference(live.logprobs, scores),
    limit,
  )
  const count = live.greedy[0]?.length ?? 0
  const theirs = await reader.proceed(live.prompts, count)
  const means =
    mean === null
      ? []
      : [parityLine('The mean of these differences.', meanDifference(live.logprobs, scores), mean)]
  return [logprobs, ...means, await greedyLine(live, theirs, reader, limit)]
}

/**
 * Measures, where the continuations part, how much the model read back prefers its own token: a tie may fall either
 * way.
 */
async function greedyLine(
  live: LiveAnswers,
  theirs: readonly Int32Array[],
  reader: ParityReader,
  limit: number,
): Promise<ParityLine> {
  let [same, largest] = [0, 0]
  for (const [index, ours] of live.greedy.entries()) {
    const other = theirs[index] ?? new Int32Array()
    const at = ours.findIndex((id, place) => id !== other[place])
    same += at < 0 ? ours.length : at
    if (at < 0) continue
    const start = [...(live.prompts[index] ?? []), ...ours.subarray(0, at)]
    const ends = [ours[at], other[at]].map((id) => Int32Array.from([...start, id ?? 0]))
    const [mine, its] = (await reader.score(ends)).map((row) => row.at(-1) ?? NaN)
    largest = Math.max(largest, Math.abs((its ?? NaN) - (mine ?? NaN)))
  }
  const all = live.greedy.reduce((sum, { length }) => sum + length, 0)
  const sentence = `Greedy continuations: ${same} of ${all} tokens are the same${same === all ? '' : ' up to the first difference, where the two tokens differ by this many nats'}.`
  return parityLine(sentence, Number.isNaN(largest) ? Infinity : largest, 2 * limit)
}

/** Texts that every export is asked to continue: prose, numbers, code, other scripts. */
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
  /** Sequences of ids, at least two each. */
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

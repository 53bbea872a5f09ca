/**
 * From the scores of one row to its next token. Order and meaning of the processors are Hugging Face's: repetition
 * penalty, minimum length, temperature, top-k, top-p, min-p, softmax, draw.
 *
 * Three ways lead to the same choice. The graph has always divided by the temperature (a repetition penalty may come
 * before or after that). Where nothing is left out it also finds the block of the vocabulary where the token lies;
 * filters and a minimum length work on the whole softmax. A repetition penalty changes logits, and a softmax sharpened by
 * a low temperature says little of what is left before the minimum length: such steps read logits and compute here in f64.
 */
import { AppError } from '#shared/errors.ts'
import type { SamplingOptions } from '../policy.ts'
import { sumOf, TokenFilter, type Filters } from './generation/tokenFilter.ts'

export interface Choice {
  readonly id: number
  /** Of the unfiltered softmax(logits / temperature), so that it equals what scoring the completion says. */
  readonly logprob: number
}

interface LogitOptions extends Filters {
  /** 1 = off. */
  readonly repetitionPenalty: number
  /** Ids that may not be chosen. */
  readonly suppressed: readonly number[]
  readonly temperature: number
}

/** What happened to a row before this token. */
interface RowHistory {
  /** Distinct ids of prompt and completion; read only with a repetition penalty. */
  readonly seen: Iterable<number>
  /** Completion tokens so far. */
  readonly generated: number
}

/** Arrays [V] to work in, reused from token to token. */
interface Workspace {
  readonly scores: Float64Array
  /** Its weights hold the softmax. */
  readonly filter: TokenFilter
}

const workspaceOf = (vocabSize: number): Workspace => ({
  scores: new Float64Array(vocabSize),
  filter: new TokenFilter(vocabSize),
})

function largestOf(values: ArrayLike<number>): number {
  let largest = -Infinity
  for (let id = 0; id < values.length; id++) if (values[id]! > largest) largest = values[id]!
  return largest
}

/** Lowest id among the largest values; −1 when there is none above minus infinity. */
function argmax(values: Float64Array): number {
  let [best, largest] = [-1, -Infinity]
  for (let id = 0; id < values.length; id++) {
    if (values[id]! > largest) [best, largest] = [id, values[id]!]
  }
  return best
}

/** First id whose cumulative weight exceeds `target`; where rounding leaves the sum short of it, the last positive one. */
function categorical(weights: ArrayLike<number>, target: number): number {
  let [sum, last] = [0, -1]
  for (let id = 0; id < weights.length; id++) {
    const weight = weights[id]!
    if (!(weight > 0)) continue
    sum += weight
    if (sum > target) return id
    last = id
  }
  return last
}

/** scores ← penalised and tempered logits, suppressed ids at minus infinity. */
function writeScores(
  scores: Float64Array,
  logits: ArrayLike<number>,
  seen: Iterable<number>,
  options: LogitOptions,
): void {
  const { repetitionPenalty, suppressed, temperature } = options
  for (let id = 0; id < logits.length; id++) scores[id] = logits[id]!
  if (repetitionPenalty !== 1) {
    for (const id of new Set(seen)) {
      const score = scores[id]!
      scores[id] = score < 0 ? score * repetitionPenalty : score / repetitionPenalty
    }
  }
  for (const id of suppressed) scores[id] = -Infinity
  if (temperature !== 1) for (let id = 0; id < scores.length; id++) scores[id] = scores[id]! / temperature
}

/** probabilities ← softmax(scores). */
function writeSoftmax(probabilities: Float64Array, scores: Float64Array): void {
  const largest = largestOf(scores)
  let total = 0
  for (let id = 0; id < scores.length; id++) {
    const weight = Math.exp(scores[id]! - largest)
    probabilities[id] = weight
    total += weight
  }
  for (let id = 0; id < scores.length; id++) probabilities[id] = probabilities[id]! / total
}

/**
 * Applies every processor to raw logits [V], given the distinct ids `seen` in prompt and completion. Returns the
 * scores, minus infinity where a token was removed, and their softmax. The arrays are the workspace's own.
 */
export function processLogits(
  logits: ArrayLike<number>,
  seen: Iterable<number>,
  options: LogitOptions,
  workspace: Workspace = workspaceOf(logits.length),
): { readonly scores: Float64Array; readonly probabilities: Float64Array } {
  const { scores, filter } = workspace
  const probabilities = filter.weights
  writeScores(scores, logits, seen, options)
  writeSoftmax(probabilities, scores)
  if (!isFiltering(options)) return { scores, probabilities }
  const { ids, weights } = filter.keep(options)
  const total = sumOf(weights)
  probabilities.fill(0)
  for (let i = 0; i < ids.length; i++) probabilities[ids[i]!] = weights[i]! / total
  for (let id = 0; id < scores.length; id++) if (probabilities[id] === 0) scores[id] = -Infinity
  return { scores, probabilities }
}

const isFiltering = ({ topK, topP, minP }: Filters): boolean => topK > 0 || topP < 1 || minP > 0

/** log Σ exp(logits). */
function logSumExp(logits: ArrayLike<number>): number {
  const largest = largestOf(logits)
  let total = 0
  for (let id = 0; id < logits.length; id++) total += Math.exp(logits[id]! - largest)
  return largest + Math.log(total)
}

function expectToken(id: number): number {
  if (id >= 0) return id
  throw new AppError(
    'runtime/failed',
    'The model gave no finite probability to any token.',
    'Its weights may have diverged: go back to an earlier checkpoint and lower the learning rate.',
  )
}

/** Chooses tokens for any number of rows that share one set of sampling options. */
export class Sampler {
  /** What the graph must divide logits by; 1 for greedy. */
  readonly temperature: number
  readonly #sampling: SamplingOptions
  readonly #workspace: Workspace

  constructor(vocabSize: number, sampling: SamplingOptions) {
    this.#sampling = sampling
    this.#workspace = workspaceOf(vocabSize)
    this.temperature = sampling.greedy ? 1 : sampling.temperature
  }

  /** The least that a pass must say of rows with so many completion tokens. */
  wanted(generated: readonly number[]): 'logits' | 'probabilities' | 'choice' {
    const { greedy, repetitionPenalty } = this.#sampling
    const isSuppressing = generated.some((count) => this.#suppressed(count).length > 0)
    // A low temperature may leave the ends with all that f32 can hold, and nothing for the others.
    if (repetitionPenalty !== 1 || (isSuppressing && this.temperature < 1)) return 'logits'
    return greedy || isSuppressing || isFiltering(this.#sampling) ? 'probabilities' : 'choice'
  }

  /** `probabilities`: [V] softmax(logits / temperature); `uniform` in [0, 1). */
  fromProbabilities(probabilities: Float32Array, { generated }: RowHistory, uniform: number): Choice {
    const { weights } = this.#workspace.filter
    weights.set(probabilities)
    for (const id of this.#suppressed(generated)) weights[id] = 0
    const id = expectToken(this.#sampling.greedy ? argmax(weights) : this.#draw(uniform))
    return { id, logprob: Math.log(probabilities[id]!) }
  }

  /** Ids that would end a completion which is too short to end. */
  #suppressed(generated: number): readonly number[] {
    return generated < this.#sampling.minNewTokens ? this.#sampling.stopIds : []
  }

  /** `choice`: [W + 3] of the row, as a pass gives it; `uniform` in [0, 1), the one the block was chosen with. */
  fromChoice(choice: Float32Array, uniform: number): Choice {
    const width = choice.length - 3
    const [number, before, total] = [choice[width]!, choice[width + 1]!, choice[width + 2]!]
    const block = choice.subarray(0, width)
    const index = expectToken(categorical(block, uniform * total - before))
    return { id: number * width + index, logprob: Math.log(block[index]!) }
  }

  /** `logits`: [V], over the temperature; `uniform` in [0, 1). */
  fromLogits(logits: Float32Array, history: RowHistory, uniform: number): Choice {
    const { greedy, repetitionPenalty } = this.#sampling
    const filters = greedy ? { topK: 0, topP: 1, minP: 0 } : this.#sampling
    const { scores, probabilities } = processLogits(
      logits,
      history.seen,
      {
        repetitionPenalty,
        suppressed: this.#suppressed(history.generated),
        temperature: 1,
        ...{ topK: filters.topK, topP: filters.topP, minP: filters.minP },
      },
      this.#workspace,
    )
    const id = expectToken(greedy ? argmax(scores) : categorical(probabilities, uniform))
    return { id, logprob: logits[id]! - logSumExp(logits) }
  }

  #draw(uniform: number): number {
    const { filter } = this.#workspace
    if (!isFiltering(this.#sampling)) return categorical(filter.weights, uniform * sumOf(filter.weights))
    const { ids, weights } = filter.keep(this.#sampling)
    return ids[categorical(weights, uniform * sumOf(weights))] ?? -1
  }
}

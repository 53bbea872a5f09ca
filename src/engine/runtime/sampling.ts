/**
 * Chooses the next token of a row from its scores. Order and meaning of the processors are Hugging Face's: repetition
 * penalty, minimum length, temperature, top-k, top-p, min-p, softmax, draw.
 *
 * Several ways lead to the same choice. The graph has always divided by the temperature (a repetition penalty may come
 * before or after that). Where nothing is filtered it also finds the block of the vocabulary where the token lies, on
 * the CPU without what a minimum length leaves out, or the likeliest token; filters work on the whole softmax. A
 * repetition penalty changes logits, and a softmax sharpened by a low temperature says little of what is left before
 * the minimum length: such steps read logits.
 */
import { AppError } from '#shared/errors.ts'
import type { SamplingOptions, TokenLogprob } from '../policy.ts'
import { largestOf, sumOf, TokenFilter, type Filters } from './generation/tokenFilter.ts'

export interface Choice {
  readonly id: number
  /**
   * Log-probability under the unfiltered softmax(logits / temperature), so that it equals the score of the completion.
   */
  readonly logprob: number
  /** The most probable ids, of the same softmax; as many as were asked for. */
  readonly top: readonly TokenLogprob[]
}

/** The least that may be wanted of a pass to choose from. */
export type WantedScores = 'logits' | 'probabilities' | 'choice' | 'best'

/**
 * Returns the scores that serve all requests: every choice can be made from the probabilities, or else from the logits.
 */
export function servingAll(wanted: readonly WantedScores[]): WantedScores {
  const [first = 'probabilities', ...others] = new Set(wanted)
  if (others.length === 0) return first
  return wanted.includes('logits') ? 'logits' : 'probabilities'
}

/** Tokens of a row before this one. */
interface RowHistory {
  /** Ids of prompt and completion; read only with a repetition penalty. */
  readonly seen: Iterable<number>
  /** Completion tokens so far. */
  readonly generated: number
}

/** Returns the lowest id among the largest values; −1 when there is none above minus infinity. */
function argmax(values: Float64Array): number {
  let [best, largest] = [-1, -Infinity]
  for (let id = 0; id < values.length; id++) {
    if (values[id]! > largest) [best, largest] = [id, values[id]!]
  }
  return best
}

/** The ids of the `count` largest scores, the largest first; of equal ones the lowest ids. */
function mostProbable(scores: ArrayLike<number>, count: number): readonly number[] {
  const ids: number[] = []
  if (count === 0) return ids
  let least = -Infinity
  for (let id = 0; id < scores.length; id++) {
    const score = scores[id]!
    if (ids.length === count && !(score > least)) continue
    let place = ids.length
    while (place > 0 && scores[ids[place - 1]!]! < score) place--
    ids.splice(place, 0, id)
    if (ids.length > count) ids.pop()
    least = scores[ids.at(-1)!]!
  }
  return ids
}

/** First id whose cumulative weight exceeds `target`; where rounding leaves the sum short of it, the last positive one. */
function categorical(weights: Float32Array | Float64Array, target: number): number {
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

interface Weighed {
  /** Value subtracted from every logit before exp. */
  readonly offset: number
  /** log Σ exp(logits), of the logits as they were. */
  readonly logTotal: number
}

/**
 * weights ← exp(logits − offset), those of the ids in `seen` penalised, once: a positive logit is divided by the penalty, a
 * negative one multiplied. logits [V], over the temperature, in f64 so that also what f32 would make 0 can be drawn.
 */
export function weighLogits(
  weights: Float64Array,
  logits: ArrayLike<number>,
  seen: Iterable<number>,
  penalty: number,
): Weighed {
  const largest = largestOf(logits)
  let total = 0
  for (let id = 0; id < logits.length; id++) {
    const weight = Math.exp(logits[id]! - largest)
    weights[id] = weight
    total += weight
  }
  const logTotal = largest + Math.log(total)
  if (penalty === 1) return { offset: largest, logTotal }
  const penalised = Array.from(seen, (id) => [id, penalisedLogit(logits[id]!, penalty)] as const)
  // A penalty below 1 is a reward: it may lift a token above all others.
  const offset = penalised.reduce((most, [, logit]) => Math.max(most, logit), largest)
  const factor = Math.exp(largest - offset)
  if (factor !== 1) for (let id = 0; id < weights.length; id++) weights[id] = weights[id]! * factor
  for (const [id, logit] of penalised) weights[id] = Math.exp(logit - offset)
  return { offset, logTotal }
}

const penalisedLogit = (logit: number, penalty: number): number =>
  logit < 0 ? logit * penalty : logit / penalty

const isFiltering = ({ topK, topP, minP }: Filters): boolean => topK > 0 || topP < 1 || minP > 0

function expectToken(id: number): number {
  if (id >= 0) return id
  throw new AppError(
    'runtime/failed',
    'The model gave no finite probability to any token.',
    'Training may have diverged: go back to an earlier checkpoint and lower the learning rate.',
  )
}

/** Chooses tokens for any number of rows that share one set of sampling options. */
export class Sampler {
  /** Temperature by which the graph must divide logits; 1 for greedy. */
  readonly temperature: number
  readonly #sampling: SamplingOptions
  readonly #filter: TokenFilter
  readonly #ends: readonly number[]

  /** Takes a `filter` that may serve several samplers of one vocabulary, since each choice fills it again. */
  constructor(vocabSize: number, sampling: SamplingOptions, filter = new TokenFilter(vocabSize)) {
    this.#sampling = sampling
    this.#filter = filter
    this.#ends = sampling.stopIds.filter((id) => id < vocabSize)
    this.temperature = sampling.greedy ? 1 : sampling.temperature
  }

  /**
   * Returns the least that a pass must return for rows of these lengths; `leavesOut`: true if the graph can leave ids
   * out of its choice.
   */
  wanted(generated: readonly number[], leavesOut: boolean): WantedScores {
    const { greedy, repetitionPenalty } = this.#sampling
    const isEarly = generated.some((count) => this.leftOut(count).length > 0)
    // A low temperature may leave the ends with all that f32 can hold, and nothing for the others.
    if (repetitionPenalty !== 1 || (isEarly && this.temperature < 1)) return 'logits'
    if (this.#topLogprobs > 0 || (isEarly && (greedy || !leavesOut))) return 'probabilities'
    if (greedy) return 'best'
    return isFiltering(this.#sampling) ? 'probabilities' : 'choice'
  }

  /** `probabilities`: [V] softmax(logits / temperature); `uniform` in [0, 1). */
  fromProbabilities(probabilities: Float32Array, { generated }: RowHistory, uniform: number): Choice {
    this.#filter.weights.set(probabilities)
    const id = this.#choose(generated, uniform)
    const top = mostProbable(probabilities, this.#topLogprobs)
    return {
      id,
      logprob: Math.log(probabilities[id]!),
      top: top.map((other) => ({ id: other, logprob: Math.log(probabilities[other]!) })),
    }
  }

  get #topLogprobs(): number {
    return this.#sampling.topLogprobs ?? 0
  }

  /** `logits`: [V], over the temperature; `uniform` in [0, 1). */
  fromLogits(logits: Float32Array, { seen, generated }: RowHistory, uniform: number): Choice {
    const { logTotal } = weighLogits(this.#filter.weights, logits, seen, this.#sampling.repetitionPenalty)
    const id = this.#choose(generated, uniform)
    const top = mostProbable(logits, this.#topLogprobs)
    return {
      id,
      logprob: logits[id]! - logTotal,
      top: top.map((other) => ({ id: other, logprob: logits[other]! - logTotal })),
    }
  }

  /** Ids that would end a completion which is too short to end. */
  leftOut(generated: number): readonly number[] {
    return generated < this.#sampling.minNewTokens ? this.#ends : []
  }

  /** `choice`: [W + 3] of the row, as a pass gives it; `uniform` in [0, 1), the one the block was chosen with. */
  fromChoice(choice: Float32Array, { generated }: Pick<RowHistory, 'generated'>, uniform: number): Choice {
    const width = choice.length - 3
    const [number, before, total] = [choice[width]!, choice[width + 1]!, choice[width + 2]!]
    const block = choice.subarray(0, width)
    const weights = block.slice()
    for (const id of this.leftOut(generated)) {
      if (Math.floor(id / width) === number) weights[id % width] = 0
    }
    const index = expectToken(categorical(weights, uniform * total - before))
    return { id: number * width + index, logprob: Math.log(block[index]!), top: [] }
  }

  /** `best`: [2] of the row, the likeliest id and its probability. */
  fromBest([id, probability]: ArrayLike<number> & Iterable<number>): Choice {
    return { id: expectToken(probability! > 0 ? id! : -1), logprob: Math.log(probability!), top: [] }
  }

  /** Chooses an id from the weights in the filter. */
  #choose(generated: number, uniform: number): number {
    const { weights } = this.#filter
    for (const id of this.leftOut(generated)) weights[id] = 0
    if (this.#sampling.greedy) return expectToken(argmax(weights))
    if (!isFiltering(this.#sampling)) return expectToken(categorical(weights, uniform * sumOf(weights)))
    const kept = this.#filter.keep(this.#sampling)
    return expectToken(kept.ids[categorical(kept.weights, uniform * sumOf(kept.weights))] ?? -1)
  }
}

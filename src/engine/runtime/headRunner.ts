import { alternativeNames, coefficientNames } from '../models/alternativesPart.ts'
import type { ModelConfig } from '../models/config.ts'
import { gradientName } from '../models/learningGraphs.ts'
import type { AccumulateOptions, ScoreOptions } from '../policy.ts'
import { type HeadPass, type LearningPrograms, type ProgramUse, programUse } from './learningPrograms.ts'
import type { PackedBatch, PackedCoefficients, PackedScores } from './packedBatch.ts'
import type { Feeds } from './programs.ts'
import { floats, free, int64s } from './session.ts'

/** Tokens of a chunk where logits exist for the whole vocabulary. */
const CHUNK_LIMITS = { smallest: 32, largest: 256 }
/** Tokens of a chunk where logits exist for a slice of the vocabulary only. */
const SLICED_CHUNK = 512

/** Log-probability of the target below which the odds of other tokens may exceed f32's range (up to e⁸⁸). */
const LEAST_LOGPROB = -80

interface HeadSlopes extends PackedScores {
  /** [A, D] ∂logprob/∂hidden */
  readonly logprobSlopes: Float32Array
  /** [A, D] ∂entropy/∂hidden; null unless asked for */
  readonly entropySlopes: Float32Array | null
}

/** Scores of a micro-batch and its way back, which may be gone once. */
export interface HeadRun {
  readonly scores: PackedScores
  /** ∂loss/∂hidden [N, D]: zero where no head was computed. */
  readonly cotangent: (coefficients: PackedCoefficients) => Promise<Float32Array>
}

interface HeadTask {
  readonly use: ProgramUse
  readonly pass: HeadPass
  /** [N, D] */
  readonly hidden: Float32Array
  readonly rows: Pick<PackedBatch, 'headRows' | 'headTargets'>
  readonly temperature: number
  /** Further feeds of the rows from `start` on. */
  readonly feeds?: (start: number, rows: number) => Feeds
  /** Alternatives of each row. */
  readonly each?: number
}

/**
 * Runs the vocabulary head over the rows that need it, a chunk of tokens at a time. Learning sees a slice of the vocabulary at a
 * time; scores without a gradient and losses with an entropy term need all logits of a token at once.
 */
export class HeadRunner {
  readonly #config: ModelConfig
  readonly #programs: LearningPrograms
  readonly #chunkBytes: number

  /** `chunkBytes`: upper bound of the size of one chunk's logits. */
  constructor(config: ModelConfig, programs: LearningPrograms, chunkBytes: number) {
    this.#config = config
    this.#programs = programs
    this.#chunkBytes = chunkBytes
  }

  /** Scores of the batch's head rows. hidden [N, D]. */
  async score(
    hidden: Float32Array,
    batch: PackedBatch,
    { temperature, likeliest = 0 }: Pick<ScoreOptions, 'temperature' | 'likeliest'>,
  ): Promise<PackedScores> {
    if (batch.headAlternatives !== null) return this.#alternatives(hidden, batch, temperature)
    const each = Math.min(likeliest, this.#config.vocabSize)
    const scores = emptyScores(batch.headRows.length, each)
    const feeds = () => ({ [alternativeNames.count]: int64s(Int32Array.of(each), [1]) })
    const task: HeadTask =
      each === 0
        ? { use: programUse('score', batch), pass: 'score', hidden, rows: batch, temperature }
        : { use: 'alternatives', pass: 'likeliest', hidden, rows: batch, temperature, feeds, each }
    await this.#chunks(task, (start, results) => storeScores(scores, start, results))
    return scores
  }

  /** Scores of the batch's head rows, and the way back from them. */
  async learn(
    hidden: Float32Array,
    batch: PackedBatch,
    options: Pick<AccumulateOptions, 'temperature' | 'entropyGradient'>,
  ): Promise<HeadRun> {
    const { temperature } = options
    if (batch.headAlternatives !== null) {
      const scores = await this.#alternatives(hidden, batch, temperature)
      const cotangent = (coefficients: PackedCoefficients) =>
        this.#learnAlternatives(hidden, batch, { coefficients, temperature })
      return { scores, cotangent }
    }
    const slopes = await this.#slopes(hidden, batch, options)
    free(hidden)
    return {
      scores: slopes,
      cotangent: (coefficients) => Promise.resolve(this.#cotangent(batch, slopes, coefficients)),
    }
  }

  /** Scores of the head rows and of the alternatives that they have. */
  async #alternatives(hidden: Float32Array, batch: PackedBatch, temperature: number): Promise<PackedScores> {
    const ids = batch.headAlternatives!
    const each = ids.length / batch.headRows.length
    const scores = {
      ...emptyScores(batch.headRows.length, 0),
      alternatives: { ids, logprobs: new Float64Array(ids.length) },
    }
    const feeds = (start: number, rows: number) => alternativesFeed(ids, each, start, rows)
    const task: HeadTask = {
      use: 'alternatives',
      pass: 'alternatives',
      hidden,
      rows: batch,
      temperature,
      feeds,
      each,
    }
    await this.#chunks(task, (start, results) => storeScores(scores, start, results))
    return scores
  }

  /** The way back from alternatives: the head is computed again, now with coefficients. */
  async #learnAlternatives(
    hidden: Float32Array,
    batch: PackedBatch,
    {
      coefficients,
      temperature,
    }: { readonly coefficients: PackedCoefficients; readonly temperature: number },
  ): Promise<Float32Array> {
    const ids = batch.headAlternatives!
    const each = ids.length / batch.headRows.length
    const { logprobs, entropies, alternatives } = coefficients
    const column = (values: Float64Array | null | undefined, start: number, rows: number, width: number) => {
      const part = values?.subarray(start * width, (start + rows) * width)
      return floats(part ? Float32Array.from(part) : new Float32Array(rows * width), [rows, width])
    }
    const feeds = (start: number, rows: number): Feeds => ({
      ...alternativesFeed(ids, each, start, rows),
      [coefficientNames.logprobs]: column(logprobs, start, rows, 1),
      [coefficientNames.entropies]: column(entropies, start, rows, 1),
      [alternativeNames.coefficients]: column(alternatives, start, rows, each),
    })
    const width = this.#config.hiddenSize
    const cotangent = new Float32Array(batch.tokens * width)
    const task: HeadTask = {
      use: 'alternatives',
      pass: 'learnAlternatives',
      hidden,
      rows: batch,
      temperature,
      feeds,
      each,
    }
    await this.#chunks(task, (start, results) => {
      const slopes = results[gradientName('hidden')]!
      for (let index = 0; index * width < slopes.length; index++) {
        const to = batch.headRows[start + index]! * width
        for (let at = 0; at < width; at++) cotangent[to + at]! += slopes[index * width + at]!
      }
    })
    free(hidden)
    return cotangent
  }

  async #slopes(
    hidden: Float32Array,
    batch: PackedBatch,
    { temperature, entropyGradient }: Pick<AccumulateOptions, 'temperature' | 'entropyGradient'>,
  ): Promise<HeadSlopes> {
    const rows = batch.headRows.length
    const width = this.#config.hiddenSize
    const scores = emptyScores(rows, 0)
    const logprobSlopes = new Float32Array(rows * width)
    const entropySlopes = entropyGradient ? new Float32Array(rows * width) : null
    const pass = entropyGradient ? 'learnEntropy' : 'learn'
    const task: HeadTask = { use: programUse('learn', batch), pass, hidden, rows: batch, temperature }
    await this.#chunks(task, (start, results) => {
      storeScores(scores, start, results)
      logprobSlopes.set(results['logprobSlope']!, start * width)
      entropySlopes?.set(results['entropySlope']!, start * width)
    })
    const slopes = { ...scores, logprobSlopes, entropySlopes }
    if (pass === 'learn') await this.#learnAgain(slopes, task)
    return slopes
  }

  /** Each head row's slopes times its coefficients. */
  #cotangent(batch: PackedBatch, head: HeadSlopes, coefficients: PackedCoefficients): Float32Array {
    const width = this.#config.hiddenSize
    const cotangent = new Float32Array(batch.tokens * width)
    const addSlopes = (slopes: Float32Array, factors: Float64Array) => {
      batch.headRows.forEach((row, index) => {
        const factor = factors[index]!
        if (factor === 0) return
        const [to, from] = [row * width, index * width]
        for (let at = 0; at < width; at++) cotangent[to + at]! += factor * slopes[from + at]!
      })
    }
    addSlopes(head.logprobSlopes, coefficients.logprobs)
    if (head.entropySlopes && coefficients.entropies) addSlopes(head.entropySlopes, coefficients.entropies)
    return cotangent
  }

  /** Learns again, with the whole vocabulary at once, from the rows whose target is too unlikely for slices. */
  async #learnAgain({ logprobs, entropies, logprobSlopes }: HeadSlopes, task: HeadTask): Promise<void> {
    const places = Int32Array.from([...logprobs.keys()].filter((row) => !(logprobs[row]! > LEAST_LOGPROB)))
    const { headRows, headTargets } = task.rows
    const rows = {
      headRows: places.map((row) => headRows[row]!),
      headTargets: places.map((row) => headTargets[row]!),
    }
    const width = this.#config.hiddenSize
    await this.#chunks({ ...task, pass: 'learnEntropy', rows }, (start, results) => {
      results['logprob']!.forEach((logprob, index) => {
        const row = places[start + index]!
        logprobs[row] = logprob
        entropies[row] = results['entropy']![index]!
        const slope = results['logprobSlope']!.subarray(index * width, (index + 1) * width)
        logprobSlopes.set(slope, row * width)
      })
    })
  }

  /** `store` copies what it needs. */
  async #chunks(
    { use, pass, hidden, rows: { headRows, headTargets }, temperature, feeds, each = 0 }: HeadTask,
    store: (start: number, results: Readonly<Record<string, Float32Array>>) => void,
  ): Promise<void> {
    const width = this.#config.hiddenSize
    const size = pass === 'learn' ? SLICED_CHUNK : this.#wholeChunk(each)
    const inverseTemperature = floats(Float32Array.of(1 / temperature), [1])
    for (let start = 0; start < headRows.length; start += size) {
      const rows = headRows.subarray(start, start + size)
      const chunk = new Float32Array(rows.length * width)
      rows.forEach((row, index) => chunk.set(hidden.subarray(row * width, (row + 1) * width), index * width))
      const targets = int64s(headTargets.subarray(start, start + size), [rows.length])
      const own = { hidden: floats(chunk, [rows.length, width]), targets, inverseTemperature }
      const results = await this.#programs.run(use, `head ${pass}`, {
        ...own,
        ...feeds?.(start, rows.length),
      })
      store(start, results)
      free(chunk, ...Object.values(results))
    }
  }

  /** Tokens of a chunk for which logits over the whole vocabulary are kept, or rows of the vocabulary of each alternative. */
  #wholeChunk(each: number): number {
    const { vocabSize, hiddenSize } = this.#config
    const fitting = Math.floor(this.#chunkBytes / (4 * Math.max(vocabSize, each * hiddenSize)))
    return Math.max(CHUNK_LIMITS.smallest, Math.min(CHUNK_LIMITS.largest, fitting))
  }
}

const emptyScores = (rows: number, each: number): PackedScores => ({
  logprobs: new Float64Array(rows),
  entropies: new Float64Array(rows),
  ...(each > 0 && {
    alternatives: { ids: new Int32Array(rows * each), logprobs: new Float64Array(rows * each) },
  }),
})

const alternativesFeed = (ids: Int32Array, each: number, start: number, rows: number): Feeds => ({
  [alternativeNames.ids]: int64s(ids.subarray(start * each, (start + rows) * each), [rows, each]),
})

function storeScores(
  scores: PackedScores,
  start: number,
  results: Readonly<Record<string, Float32Array>>,
): void {
  // A target's logit is computed twice while learning: rounding may leave a certain one slightly above 0.
  results['logprob']!.forEach((logprob, row) => (scores.logprobs[start + row] = Math.min(logprob, 0)))
  scores.entropies.set(results['entropy']!, start)
  if (scores.alternatives) {
    const each = scores.alternatives.ids.length / scores.logprobs.length
    scores.alternatives.logprobs.set(results[alternativeNames.logprobs]!, start * each)
    const found = results[alternativeNames.ids]
    if (found) scores.alternatives.ids.set(found, start * each)
  }
}

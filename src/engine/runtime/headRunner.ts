import type { ModelConfig } from '../models/config.ts'
import { type HeadPass, type LearningPrograms, type ProgramUse, programUse } from './learningPrograms.ts'
import type { PackedBatch, PackedCoefficients } from './packedBatch.ts'
import { floats, free, int64s } from './session.ts'

/** Tokens of a chunk where logits exist for the whole vocabulary. */
const CHUNK_LIMITS = { smallest: 32, largest: 256 }
/** Tokens of a chunk where logits exist for a slice of the vocabulary only. */
const SLICED_CHUNK = 512

/** Log-probability of the target below which the odds of other tokens may exceed f32's range (up to e⁸⁸). */
const LEAST_LOGPROB = -80

export interface HeadScores {
  /** [A] */
  readonly logprobs: Float64Array
  /** [A] */
  readonly entropies: Float64Array
}

export interface HeadSlopes extends HeadScores {
  /** [A, D] ∂logprob/∂hidden */
  readonly logprobSlopes: Float32Array
  /** [A, D] ∂entropy/∂hidden; null unless asked for */
  readonly entropySlopes: Float32Array | null
}

interface HeadTask {
  readonly use: ProgramUse
  readonly pass: HeadPass
  /** [N, D] */
  readonly hidden: Float32Array
  readonly rows: Pick<PackedBatch, 'headRows' | 'headTargets'>
  readonly temperature: number
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
  async score(hidden: Float32Array, batch: PackedBatch, temperature: number): Promise<HeadScores> {
    const scores = emptyScores(batch.headRows.length)
    const use = programUse('score', batch)
    const task: HeadTask = { use, pass: 'score', hidden, rows: batch, temperature }
    await this.#chunks(task, (start, results) => storeScores(scores, start, results))
    return scores
  }

  /** Scores and their slopes. */
  async learn(
    hidden: Float32Array,
    batch: PackedBatch,
    { temperature, entropyGradient }: { readonly temperature: number; readonly entropyGradient: boolean },
  ): Promise<HeadSlopes> {
    const rows = batch.headRows.length
    const width = this.#config.hiddenSize
    const scores = emptyScores(rows)
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

  /** ∂loss/∂hidden [N, D]: each head row's slopes times its coefficients, zero elsewhere. */
  cotangent(batch: PackedBatch, head: HeadSlopes, coefficients: PackedCoefficients): Float32Array {
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
    { use, pass, hidden, rows: { headRows, headTargets }, temperature }: HeadTask,
    store: (start: number, results: Readonly<Record<string, Float32Array>>) => void,
  ): Promise<void> {
    const width = this.#config.hiddenSize
    const size = pass === 'learn' ? SLICED_CHUNK : this.#wholeChunk()
    const inverseTemperature = floats(Float32Array.of(1 / temperature), [1])
    for (let start = 0; start < headRows.length; start += size) {
      const rows = headRows.subarray(start, start + size)
      const chunk = new Float32Array(rows.length * width)
      rows.forEach((row, index) => chunk.set(hidden.subarray(row * width, (row + 1) * width), index * width))
      const targets = int64s(headTargets.subarray(start, start + size), [rows.length])
      const feeds = { hidden: floats(chunk, [rows.length, width]), targets, inverseTemperature }
      const results = await this.#programs.run(use, `head ${pass}`, feeds)
      store(start, results)
      free(chunk, ...Object.values(results))
    }
  }

  /** Tokens of a chunk for which logits over the whole vocabulary are kept. */
  #wholeChunk(): number {
    const fitting = Math.floor(this.#chunkBytes / (4 * this.#config.vocabSize))
    return Math.max(CHUNK_LIMITS.smallest, Math.min(CHUNK_LIMITS.largest, fitting))
  }
}

const emptyScores = (rows: number): HeadScores => ({
  logprobs: new Float64Array(rows),
  entropies: new Float64Array(rows),
})

function storeScores(
  scores: HeadScores,
  start: number,
  results: Readonly<Record<string, Float32Array>>,
): void {
  // A target's logit is computed twice while learning: rounding may leave a certain one slightly above 0.
  results['logprob']!.forEach((logprob, row) => (scores.logprobs[start + row] = Math.min(logprob, 0)))
  scores.entropies.set(results['entropy']!, start)
}

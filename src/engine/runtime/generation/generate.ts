/**
 * Generation on any model that offers a `DecodeStep`. Read in this order: `generateCompletions` below is the loop;
 * `prefill.ts` computes prompts; `liveRows.ts` holds the rows that decode together, in a `kvCache.ts`, seen through
 * `mask.ts`; `openCompletion.ts` is one growing completion; `../sampling.ts` chooses ids.
 *
 * Every prompt is computed once, however many samples it has. Which rows happen to share a step does not matter to
 * any of them: id i of a completion is chosen by number i of its own stream.
 */
import { AppError } from '#shared/errors.ts'
import type { Completion, GenerateOptions, GenerationRequest } from '#engine/policy.ts'
import type { AnsweringRole } from '../adapterParameters.ts'
import { Sampler, type Choice } from '../sampling.ts'
import type { DecodePass, DecodeStep, PassResult, PassScores } from './decodeStep.ts'
import { LiveRows, type Arrival } from './liveRows.ts'
import { OpenCompletion } from './openCompletion.ts'
import { prefill, ragFit, type PrefillContext } from './prefill.ts'

export interface BatchLimits {
  /** Most completions that decode together. */
  readonly maxRows: number
  /** Longest prompt plus completion. */
  readonly contextLength: number
  /** Most prompt positions in one pass; bounds the memory of the pass and how long decoding waits for it. */
  readonly prefillTokens: number
  /** Called once, when the generation ends, is aborted or is abandoned. */
  readonly onEnd?: (stats: GenerationStats) => void
}

export interface GenerationStats {
  /** Prompt tokens computed, padding not counted. */
  prefillTokens: number
  /** Passes that computed prompts. */
  prefillPasses: number
  /** Passes that gave every live row one token. */
  decodeSteps: number
  /** Tokens chosen, also in completions that were not finished. */
  generatedTokens: number
  /** Most rows that decoded together. */
  peakRows: number
  /** Most memory held by cached keys and values. */
  peakCacheBytes: number
  /** Time in the model's passes. */
  passMs: number
  /** Time choosing tokens. */
  samplingMs: number
}

/** Yields completions as they finish. Throws `AppError` before any work when a request or an option cannot be served. */
export async function* generateCompletions(
  step: DecodeStep,
  requests: readonly GenerationRequest[],
  options: GenerateOptions<AnsweringRole> & BatchLimits,
): AsyncGenerator<Completion> {
  checkOptions(options)
  requests.forEach((request, index) => checkPrompt(request, index, options.contextLength))
  const generation = new Generation(step, requests, options)
  try {
    while (generation.isUnfinished) {
      for (const completion of await generation.advance()) yield completion.finish()
    }
  } finally {
    options.onEnd?.(generation.stats)
  }
}

class Generation {
  readonly stats: GenerationStats = {
    prefillTokens: 0,
    prefillPasses: 0,
    decodeSteps: 0,
    generatedTokens: 0,
    peakRows: 0,
    peakCacheBytes: 0,
    passMs: 0,
    samplingMs: 0,
  }
  readonly #step: DecodeStep
  readonly #requests: readonly GenerationRequest[]
  readonly #options: GenerateOptions<AnsweringRole> & BatchLimits
  readonly #sampler: Sampler
  readonly #live: LiveRows
  /** Samples of computed prompts for which there is no free row yet. */
  readonly #waiting: Arrival[] = []
  /** Indices of requests whose prompt is not computed yet. */
  readonly #queue: number[]

  constructor(
    step: DecodeStep,
    requests: readonly GenerationRequest[],
    options: GenerateOptions<AnsweringRole> & BatchLimits,
  ) {
    this.#step = step
    this.#requests = requests
    this.#options = options
    this.#sampler = new Sampler(step.vocabSize, options.sampling)
    this.#queue = [...requests.keys()].filter((index) => requests[index]!.streams.length > 0)
    const samples = requests.reduce((sum, { streams }) => sum + streams.length, 0)
    this.#live = new LiveRows(step, Math.min(options.maxRows, samples))
  }

  get isUnfinished(): boolean {
    return this.#live.count + this.#waiting.length + this.#queue.length > 0
  }

  /** Fills free rows: with waiting completions, else by computing prompts, else decodes. Returns what finished. */
  async advance(): Promise<OpenCompletion[]> {
    this.#admit()
    if (this.#live.free > 0 && this.#queue.length > 0) return this.#prefill()
    return this.#decode()
  }

  #admit(): void {
    this.#live.enter(this.#waiting.splice(0, this.#live.free))
    this.stats.peakRows = Math.max(this.stats.peakRows, this.#live.count)
    this.#recordCacheBytes()
  }

  #recordCacheBytes(): void {
    const prompts = new Set(this.#waiting.map(({ prompt }) => prompt))
    const waiting = [...prompts].reduce((sum, prompt) => sum + prompt.sizeBytes, 0)
    this.stats.peakCacheBytes = Math.max(this.stats.peakCacheBytes, this.#live.sizeBytes + waiting)
  }

  /** The next prompts whose samples fill the free rows; only the last of them may have more samples than that. */
  #takePrompts(): number[] {
    let samples = 0
    let count = 0
    while (count < this.#queue.length && samples < this.#live.free) {
      samples += this.#requests[this.#queue[count]!]!.streams.length
      count++
    }
    const lengths = this.#queue.slice(0, count).map((index) => this.#requests[index]!.promptIds.length)
    return this.#queue.splice(0, ragFit(lengths, this.#options.prefillTokens))
  }

  async #prefill(): Promise<OpenCompletion[]> {
    const indices = this.#takePrompts()
    // Samples of a prompt draw from the same row, so the graph cannot choose for them.
    const want = this.#wanted([0], false)
    const context: PrefillContext = {
      step: this.#step,
      prefillTokens: this.#options.prefillTokens,
      run: (pass) => {
        this.stats.prefillPasses++
        return this.#run(pass)
      },
    }
    const prompts = indices.map((index) => this.#requests[index]!.promptIds)
    const prefilled = await prefill(context, prompts, want)
    this.stats.prefillTokens += prompts.reduce((sum, { length }) => sum + length, 0)
    const finished: OpenCompletion[] = []
    for (const [position, { cache, scores }] of prefilled.entries()) {
      for (const completion of this.#openAll(indices[position]!)) {
        this.#choose(completion, scores, want)
        if (completion.isFinished) finished.push(completion)
        else this.#waiting.push({ completion, prompt: cache })
      }
    }
    this.#recordCacheBytes()
    return finished
  }

  #openAll(request: number): OpenCompletion[] {
    const { promptIds, streams } = this.#requests[request]!
    const { contextLength, sampling } = this.#options
    const limit = Math.min(sampling.maxNewTokens, contextLength - promptIds.length)
    return streams.map(
      (stream, sample) => new OpenCompletion({ request, sample, promptIds, stream, limit }, this.#options),
    )
  }

  async #decode(): Promise<OpenCompletion[]> {
    const { completions } = this.#live
    if (completions.length === 0) return []
    const lengths = completions.map(({ length }) => length)
    const want = this.#wanted(lengths, this.#step.choiceWidth !== null)
    const uniforms = Float64Array.from(completions, (completion) => completion.nextUniform())
    const result = await this.#run({ ...this.#live.inputs(), want, uniforms })
    this.stats.decodeSteps++
    const width = result.scores.length / completions.length
    for (const [row, completion] of completions.entries()) {
      this.#choose(completion, result.scores.subarray(row * width, (row + 1) * width), want)
    }
    return this.#live.settle(result)
  }

  #wanted(generated: readonly number[], graphMayChoose: boolean): PassScores {
    const wanted = this.#sampler.wanted(generated)
    return wanted === 'choice' && !graphMayChoose ? 'probabilities' : wanted
  }

  async #run(pass: Omit<DecodePass, 'inverseTemperature' | 'role'>): Promise<PassResult> {
    this.#options.signal?.throwIfAborted()
    const startedAt = performance.now()
    const inverseTemperature = 1 / this.#sampler.temperature
    const result = await this.#step.run({ ...pass, inverseTemperature, role: this.#options.role })
    this.stats.passMs += performance.now() - startedAt
    return result
  }

  #choose(completion: OpenCompletion, scores: Float32Array, kind: PassScores): void {
    const startedAt = performance.now()
    completion.add(this.#choice(completion, scores, kind))
    this.stats.generatedTokens++
    this.stats.samplingMs += performance.now() - startedAt
  }

  #choice(completion: OpenCompletion, scores: Float32Array, kind: PassScores): Choice {
    const uniform = completion.nextUniform()
    if (kind === 'choice') return this.#sampler.fromChoice(scores, uniform)
    const history = { seen: completion.seen, generated: completion.length }
    if (kind === 'probabilities') return this.#sampler.fromProbabilities(scores, history, uniform)
    return this.#sampler.fromLogits(scores, history, uniform)
  }
}

function checkPrompt({ promptIds }: GenerationRequest, index: number, contextLength: number): void {
  if (promptIds.length === 0) {
    throw new AppError(
      'data/invalid',
      `Prompt ${index + 1} is empty.`,
      'Give the model at least one token to continue.',
    )
  }
  if (promptIds.length >= contextLength) {
    throw new AppError(
      'data/invalid',
      `Prompt ${index + 1} has ${promptIds.length} tokens, which leaves no room for a completion in a context of ${contextLength}.`,
      'Shorten the prompt, or raise the context length if the model allows it.',
    )
  }
}

function samplingProblems({ sampling }: Pick<GenerateOptions, 'sampling'>): string[] {
  const { greedy, temperature, maxNewTokens, repetitionPenalty, stopStrings } = sampling
  const isPositive = (value: number) => Number.isFinite(value) && value > 0
  const problems: string[] = []
  if (!greedy && !isPositive(temperature)) problems.push(`temperature must be above 0, got ${temperature}`)
  if (!isPositive(repetitionPenalty)) {
    problems.push(`repetition penalty must be above 0, got ${repetitionPenalty}`)
  }
  if (!(maxNewTokens >= 1)) problems.push(`new tokens must be at least 1, got ${maxNewTokens}`)
  if (stopStrings.includes('')) problems.push('a stop string must not be empty')
  return problems
}

function checkOptions(options: GenerateOptions<AnsweringRole> & BatchLimits): void {
  const { sampling, decode, maxRows, prefillTokens } = options
  const problems = samplingProblems(options)
  if (problems.length > 0) {
    throw new AppError('config/invalid', `Sampling cannot start: ${problems.join('; ')}.`)
  }
  if (sampling.stopStrings.length > 0 && !decode) {
    throw new Error('Expected `decode` with stop strings, got none.')
  }
  if (!(maxRows >= 1)) throw new Error(`Expected \`maxRows\` to be at least 1, got ${maxRows}.`)
  if (!(prefillTokens >= 1)) {
    throw new Error(`Expected \`prefillTokens\` to be at least 1, got ${prefillTokens}.`)
  }
}

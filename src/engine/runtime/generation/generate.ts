/**
 * Generation on any model that offers a `Decoder`. Read in this order: `generateCompletions` below is the loop;
 * `decoder.ts` says what it asks of the model, `hostDecoder.ts` and `../deviceDecoder.ts` answer; `openCompletion.ts` is
 * one growing completion; `../sampling.ts` chooses ids.
 *
 * Every prompt is computed once, however many samples it has. Id i of a completion is chosen by number i of its own stream,
 * whichever rows share its step. They change its scores by rounding alone: for a single row and for drafts, sums run in another
 * order, which is less than 10⁻⁴ nats in f32, but tips roundings where products round what they multiply, and can then change
 * an id (docs/algorithms/importance-correction.md). Recorded is what the id was drawn from. Requests may come while others
 * are decoded; they enter where rows become free.
 */
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import type { AnsweringRole } from '../adapterParameters.ts'
import { Sampler, servingAll, type Choice, type WantedScores } from '../sampling.ts'
import type { Decoder, Decoding, PassScores, PromptSlots, RowScores } from './decoder.ts'
import { draftsOf } from './ngramDraft.ts'
import { OpenCompletion } from './openCompletion.ts'
import { ragFit } from './prefill.ts'
import { checkOptions, checkRequest } from './requestCheck.ts'
import { TokenFilter } from './tokenFilter.ts'

/** Drafts are made for at most this many live rows. With more, the time of a pass grows with its positions. */
const DRAFTED_ROWS = 4

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
  /** Tokens that every live row was given, one after the other; with drafts, passes. */
  decodeSteps: number
  /** Drafted tokens that passes verified, whether accepted or not. */
  draftedTokens: number
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

/**
 * Yields completions as they finish. Throws `AppError` before any work when a request or an option cannot be served; of a
 * request that comes later, then.
 */
export async function* generateCompletions(
  decoder: Decoder,
  requests: readonly GenerationRequest[],
  options: Options,
): AsyncGenerator<Completion> {
  checkOptions(options)
  requests.forEach((request, index) => checkRequest(request, index, options))
  const stats = noStats()
  try {
    const samples = requests.reduce((sum, { streams }) => sum + streams.length, 0)
    const maxRows = options.later ? options.maxRows : Math.min(options.maxRows, samples)
    using decoding = await decoder.open({
      role: options.role,
      maxRows,
      prefillTokens: options.prefillTokens,
      onPass(kind) {
        options.signal?.throwIfAborted()
        if (kind === 'prefill') stats.prefillPasses++
      },
    })
    const generation = new Generation(options, { decoding, decoder, stats, maxRows })
    generation.add(requests)
    for (let { later = null } = options; later !== null || generation.isUnfinished;) {
      const arriving = await later?.(!generation.isUnfinished)
      if (arriving === null) later = null
      else generation.add(arriving ?? [])
      for (const completion of await generation.advance()) yield completion.finish()
    }
  } finally {
    options.onEnd?.(stats)
  }
}

const noStats = (): GenerationStats => ({
  prefillTokens: 0,
  prefillPasses: 0,
  decodeSteps: 0,
  draftedTokens: 0,
  generatedTokens: 0,
  peakRows: 0,
  peakCacheBytes: 0,
  passMs: 0,
  samplingMs: 0,
})

type Options = GenerateOptions<AnsweringRole> & BatchLimits

/** A completion whose first id is chosen, and the prompt it starts from. */
interface Arrival {
  readonly completion: OpenCompletion
  readonly prompt: PromptSlots
}

interface GenerationParts {
  readonly decoding: Decoding
  readonly decoder: Decoder
  readonly stats: GenerationStats
  readonly maxRows: number
}

class Generation {
  readonly #parts: GenerationParts
  readonly #requests: GenerationRequest[] = []
  readonly #options: Options
  readonly #samplers: Samplers
  /** Completions that grow by one token in every step: live rows, always the first ones. */
  #live: readonly OpenCompletion[] = []
  /** Samples of computed prompts for which there is no free row yet. */
  readonly #waiting: Arrival[] = []
  /** Indices of requests whose prompt is not computed yet. */
  readonly #queue: number[] = []

  constructor(options: Options, parts: GenerationParts) {
    this.#parts = parts
    this.#options = options
    this.#samplers = new Samplers(parts.decoder.vocabSize)
  }

  /** Adds requests, numbered after those before. Errors: AppError for one that cannot be served. */
  add(requests: readonly GenerationRequest[]): void {
    for (const request of requests) {
      const index = this.#requests.push(request) - 1
      checkRequest(request, index, this.#options)
      if (request.streams.length > 0) this.#queue.push(index)
    }
  }

  get isUnfinished(): boolean {
    return this.#live.length + this.#waiting.length + this.#queue.length > 0
  }

  get #free(): number {
    return this.#parts.maxRows - this.#live.length
  }

  /** Fills free rows: with waiting completions, else by computing prompts, else decodes. Returns what finished. */
  async advance(): Promise<OpenCompletion[]> {
    await this.#admit()
    if (this.#free > 0 && this.#queue.length > 0) return this.#prefill()
    return this.#decode()
  }

  async #admit(): Promise<void> {
    const { decoding, stats } = this.#parts
    this.#dropWaiting()
    const arrivals = this.#waiting.splice(0, this.#free)
    if (arrivals.length > 0) await decoding.enter(arrivals.map(({ prompt }) => prompt))
    this.#live = [...this.#live, ...arrivals.map(({ completion }) => completion)]
    decoding.retain(this.#waitingPrompts())
    stats.peakRows = Math.max(stats.peakRows, this.#live.length)
    this.#recordCacheBytes()
  }

  /** Drops requests that have no row yet and are no longer wanted. */
  #dropWaiting(): void {
    const waiting = this.#waiting.filter(({ completion }) => !completion.isDropped)
    if (waiting.length < this.#waiting.length) this.#waiting.splice(0, Infinity, ...waiting)
    const queue = this.#queue.filter((index) => this.#requests[index]!.signal?.aborted !== true)
    if (queue.length < this.#queue.length) this.#queue.splice(0, Infinity, ...queue)
  }

  #waitingPrompts(): Set<PromptSlots> {
    return new Set(this.#waiting.map(({ prompt }) => prompt))
  }

  #recordCacheBytes(): void {
    const { decoding, stats } = this.#parts
    const waiting = [...this.#waitingPrompts()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    stats.peakCacheBytes = Math.max(stats.peakCacheBytes, decoding.sizeBytes + waiting)
  }

  /** The next prompts whose samples fill the free rows; only the last of them may have more samples than that. */
  #takePrompts(): number[] {
    let samples = 0
    let count = 0
    while (count < this.#queue.length && samples < this.#free) {
      samples += this.#requests[this.#queue[count]!]!.streams.length
      count++
    }
    const lengths = this.#queue.slice(0, count).map((index) => this.#requests[index]!.promptIds.length)
    return this.#queue.splice(0, ragFit(lengths, this.#options.prefillTokens))
  }

  async #prefill(): Promise<OpenCompletion[]> {
    const { decoding, stats } = this.#parts
    const indices = this.#takePrompts()
    const samplers = indices.map((index) => this.#samplers.of(this.#samplingOf(index)))
    // Samples of a prompt draw from the same row, so the graph cannot choose for them.
    const wanted = servingAll(samplers.map((sampler) => sampler.wanted([0], false)))
    const want = wanted === 'logits' ? wanted : 'probabilities'
    const prompts = indices.map((index, i) => ({
      ids: this.#requests[index]!.promptIds,
      inverseTemperature: 1 / samplers[i]!.temperature,
      samples: this.#requests[index]!.streams.length,
    }))
    const prefilled = await this.#timed(decoding.prefill(prompts, want))
    stats.prefillTokens += prompts.reduce((sum, { ids }) => sum + ids.length, 0)
    const finished: OpenCompletion[] = []
    for (const [position, { slots, scores }] of prefilled.entries()) {
      for (const completion of this.#openAll(indices[position]!)) {
        this.#choose(completion, scores, want)
        if (completion.isFinished) {
          completion.went(slots.routes)
          finished.push(completion)
        } else this.#waiting.push({ completion, prompt: slots })
      }
    }
    this.#recordCacheBytes()
    return finished
  }

  #openAll(request: number): OpenCompletion[] {
    const { promptIds, streams, signal } = this.#requests[request]!
    const sampling = this.#samplingOf(request)
    const limit = Math.min(sampling.maxNewTokens, this.#options.contextLength - promptIds.length)
    return streams.map(
      (stream, sample) =>
        new OpenCompletion({ request, sample, promptIds, stream, sampling, limit, signal }, this.#options),
    )
  }

  #samplingOf(request: number): SamplingOptions {
    return this.#requests[request]!.sampling ?? this.#options.sampling
  }

  async #decode(): Promise<OpenCompletion[]> {
    const { decoding, stats } = this.#parts
    const completions = this.#live
    if (completions.length === 0) return []
    const want = this.#wanted(completions)
    const room = completions.map((completion) => completion.room)
    const drafts = this.#drafts(completions, room)
    const drafted = Math.max(...drafts.map((draft) => draft.length))
    const { maxTurns } = this.#parts.decoder
    const isLoop = want === 'choice' || want === 'best'
    const turns = isLoop && maxTurns > 1 ? Math.min(maxTurns, Math.max(...room)) : drafted + 1
    const ofTurns = <Each>(each: (completion: OpenCompletion, turn: number) => Each) =>
      Array.from({ length: turns }, (_, turn) =>
        completions.map((completion) => each(completion, turn)),
      ).flat()
    const step = {
      ids: Int32Array.from(completions, ({ lastId }) => lastId),
      drafts,
      turns,
      uniforms: Float64Array.from(ofTurns((completion, turn) => completion.uniformAt(turn))),
      inverseTemperatures: Float64Array.from(
        completions,
        ({ sampling }) => 1 / this.#samplers.of(sampling).temperature,
      ),
      room,
      stopIds: [...new Set(completions.flatMap(({ sampling }) => sampling.stopIds))],
      leftOut: ofTurns(({ sampling, length }, turn) => this.#samplers.of(sampling).leftOut(length + turn)),
      want,
    }
    const scores = await this.#timed(decoding.step(step))
    stats.decodeSteps += drafted > 0 ? 1 : scores.turns.length
    stats.draftedTokens += drafts.reduce((sum, draft) => sum + draft.length, 0)
    return this.#settle(completions.map((completion, row) => this.#take(completion, row, scores, want)))
  }

  /** [B] drafts of the live rows; empty if too many decode or verifying them would not pay. */
  #drafts(completions: readonly OpenCompletion[], room: readonly number[]): readonly (readonly number[])[] {
    const { passCost } = this.#parts.decoder
    if (passCost === null || completions.length > DRAFTED_ROWS) return completions.map(() => [])
    return draftsOf(
      completions.map(({ draft }) => draft),
      room,
      passCost,
    )
  }

  /**
   * Chooses the ids of a row's turns, until the completion ends or the decoder went on with another id, and returns how many
   * it took.
   */
  #take(completion: OpenCompletion, row: number, { turns, ids }: RowScores, want: PassScores): number {
    for (const [turn, scores] of turns.entries()) {
      const width = scores.length / this.#live.length
      this.#choose(completion, scores.subarray(row * width, (row + 1) * width), want)
      if (completion.isFinished || completion.lastId !== ids[turn]?.[row]) return turn + 1
    }
    return turns.length
  }

  /** Finished and dropped completions leave; the last live one takes the place of each. Returns the finished ones. */
  async #settle(turns: readonly number[]): Promise<OpenCompletion[]> {
    const before = this.#live
    const rows = [...before.keys()]
    const finished: OpenCompletion[] = []
    for (let row = before.length - 1; row >= 0; row--) {
      const completion = before[row]!
      if (!completion.isFinished && !completion.isDropped) continue
      if (completion.isFinished) {
        completion.went(this.#parts.decoding.routesOf?.({ row, turns: turns[row]! }))
        finished.push(completion)
      }
      const last = rows.pop()!
      if (row < rows.length) rows[row] = last
    }
    await this.#parts.decoding.keep(rows.map((row) => ({ row, turns: turns[row]! })))
    this.#live = rows.map((row) => before[row]!)
    return finished.reverse()
  }

  /** The least that serves all rows. */
  #wanted(completions: readonly OpenCompletion[]): WantedScores {
    const rows = Map.groupBy(completions, ({ sampling }) => this.#samplers.of(sampling))
    const { choiceWidth, leavesOut } = this.#parts.decoder
    const lengthOf = ({ length }: OpenCompletion) => length
    const each = Array.from(rows, ([sampler, own]) => sampler.wanted(own.map(lengthOf), leavesOut))
    const wanted = servingAll(each)
    return wanted === 'logits' || choiceWidth !== null ? wanted : 'probabilities'
  }

  async #timed<Result>(pass: Promise<Result>): Promise<Result> {
    const startedAt = performance.now()
    const result = await pass
    this.#parts.stats.passMs += performance.now() - startedAt
    return result
  }

  #choose(completion: OpenCompletion, scores: Float32Array, kind: PassScores): void {
    const { stats } = this.#parts
    const startedAt = performance.now()
    completion.add(this.#choice(completion, scores, kind))
    stats.generatedTokens++
    stats.samplingMs += performance.now() - startedAt
  }

  #choice(completion: OpenCompletion, scores: Float32Array, kind: PassScores): Choice {
    const sampler = this.#samplers.of(completion.sampling)
    if (kind === 'best') return sampler.fromBest(scores)
    const uniform = completion.uniformAt(0)
    const history = { seen: completion.seen, generated: completion.length }
    if (kind === 'choice') return sampler.fromChoice(scores, history, uniform)
    if (kind === 'probabilities') return sampler.fromProbabilities(scores, history, uniform)
    return sampler.fromLogits(scores, history, uniform)
  }
}

/** One for each way of sampling; all use one filter in turn. */
class Samplers {
  readonly #vocabSize: number
  readonly #filter: TokenFilter
  readonly #samplers = new Map<SamplingOptions, Sampler>()

  constructor(vocabSize: number) {
    this.#vocabSize = vocabSize
    this.#filter = new TokenFilter(vocabSize)
  }

  of(sampling: SamplingOptions): Sampler {
    const known = this.#samplers.get(sampling)
    if (known) return known
    const sampler = new Sampler(this.#vocabSize, sampling, this.#filter)
    this.#samplers.set(sampling, sampler)
    return sampler
  }
}

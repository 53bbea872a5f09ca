/** A completion while it grows: its ids, and whether the latest of them ends it. */
import type { RandomStream } from '#shared/random.ts'
import type { Completion, GenerateOptions, Routes, SamplingOptions, StopReason } from '#engine/policy.ts'
import type { AnsweringRole } from '../adapterParameters.ts'
import type { Choice } from '../sampling.ts'
import { NgramDraft } from './ngramDraft.ts'

interface CompletionStart {
  /** Index into the requests. */
  readonly request: number
  /** Index into that request's streams. */
  readonly sample: number
  readonly promptIds: Int32Array
  readonly stream: RandomStream
  readonly sampling: SamplingOptions
  readonly signal: AbortSignal | undefined
  /** Most ids it may get. */
  readonly limit: number
}

export class OpenCompletion {
  readonly #start: CompletionStart
  readonly #stopIds: readonly number[]
  readonly #watch: StopStringWatch | null
  readonly #ids: number[] = []
  readonly #logprobs: number[] = []
  /** Distinct ids of prompt and completion; kept only where a repetition penalty reads it. */
  readonly #seen: Set<number> | null
  readonly #onToken: GenerateOptions['onToken']
  #draft: NgramDraft | null = null
  #stopReason: StopReason | null = null
  #routes: Routes | null = null

  constructor(start: CompletionStart, options: GenerateOptions<AnsweringRole>) {
    const { stopIds, stopStrings, repetitionPenalty } = start.sampling
    this.#start = start
    this.#onToken = options.onToken
    this.#stopIds = stopIds
    this.#watch =
      stopStrings.length > 0 && options.decode ? new StopStringWatch(stopStrings, options.decode) : null
    this.#seen = repetitionPenalty === 1 ? null : new Set(start.promptIds)
  }

  get request(): number {
    return this.#start.request
  }

  get sampling(): SamplingOptions {
    return this.#start.sampling
  }

  /** Ids so far. */
  get length(): number {
    return this.#ids.length
  }

  /** Prompt and completion ids so far. */
  get totalLength(): number {
    return this.#start.promptIds.length + this.#ids.length
  }

  get lastId(): number {
    return this.#ids.at(-1) ?? this.#start.promptIds.at(-1)!
  }

  get seen(): Iterable<number> {
    return this.#seen ?? []
  }

  /** Guesser of the continuation; created on first use. */
  get draft(): NgramDraft {
    this.#draft ??= new NgramDraft([...this.#start.promptIds, ...this.#ids])
    return this.#draft
  }

  get isFinished(): boolean {
    return this.#stopReason !== null
  }

  /** True when nobody waits for the rest of it. */
  get isDropped(): boolean {
    return this.#stopReason === null && this.#start.signal?.aborted === true
  }

  /** The most ids that it still takes. */
  get room(): number {
    return this.#start.limit - this.#ids.length
  }

  /**
   * Returns the number in [0, 1) that chooses the id `ahead` places after the next; it depends on the position in the
   * completion alone.
   */
  uniformAt(ahead: number): number {
    return this.#start.stream.uniformAt(this.#ids.length + ahead)
  }

  /** Adds an id, also the one that ends the completion. */
  add({ id, logprob, top }: Choice): void {
    this.#ids.push(id)
    this.#logprobs.push(logprob)
    this.#seen?.add(id)
    this.#draft?.add(id)
    this.#stopReason = this.#reasonToStop(id)
    this.#onToken?.({ request: this.#start.request, sample: this.#start.sample, id, logprob, top })
  }

  /** Notes the experts of its prompt and ids, when it ends. */
  went(routes: Routes | null | undefined): void {
    this.#routes = routes ?? null
  }

  finish(): Completion {
    if (this.#stopReason === null) throw new Error('Expected a finished completion, got one still open.')
    return {
      request: this.#start.request,
      sample: this.#start.sample,
      ids: Int32Array.from(this.#ids),
      logprobs: Float64Array.from(this.#logprobs),
      stopReason: this.#stopReason,
      ...(this.#routes && { routes: this.#routes }),
    }
  }

  #reasonToStop(id: number): StopReason | null {
    if (this.#stopIds.includes(id)) return 'stop-id'
    if (this.#watch?.isComplete(this.#ids)) return 'stop-string'
    return this.#ids.length >= this.#start.limit ? 'length' : null
  }
}

// Watches the text of one completion for stop strings by decoding a bounded tail of its ids.

/**
 * Characters kept before the longest possible match. A tail may begin inside a character or lose a leading space;
 * with this much before it, a match never touches that ragged edge.
 */
const MARGIN = 32

export class StopStringWatch {
  readonly #stopStrings: readonly string[]
  readonly #decode: (ids: readonly number[]) => string
  readonly #needed: number
  #tailStart = 0

  constructor(stopStrings: readonly string[], decode: (ids: readonly number[]) => string) {
    this.#stopStrings = stopStrings
    this.#decode = decode
    this.#needed = Math.max(...stopStrings.map((text) => text.length)) + MARGIN
  }

  /** Returns true if the text contains a stop string, given all ids so far; to be called after every new id. */
  isComplete(ids: readonly number[]): boolean {
    const text = this.#decode(ids.slice(this.#tailStart))
    if (this.#stopStrings.some((stop) => text.includes(stop))) return true
    if (text.length > 2 * this.#needed) this.#shorten(ids)
    return false
  }

  /** Drops the older half of the tail, unless too few characters would stay: ids and characters need not correspond. */
  #shorten(ids: readonly number[]): void {
    const middle = this.#tailStart + Math.floor((ids.length - this.#tailStart) / 2)
    if (this.#decode(ids.slice(middle)).length >= this.#needed) this.#tailStart = middle
  }
}

/**
 * A policy that learns here and acts on vLLM or SGLang servers. Reading guide of this folder:
 *
 *   remotePolicy.ts     (here) generates there, scores and learns here
 *   openRemotePolicy.ts opens it from a run's settings
 *   gapCheck.ts         compares log-probabilities of the two
 *   startUp.ts          what is asked of a server before it is trusted
 *   adapterVersions.ts  the adapter as folders under versioned names: written, loaded, unloaded, deleted
 *   serverPool.ts       several servers as one: which is asked for what, and what happens when one is gone
 *   remoteCompletion.ts one completion, and where it ends
 *   rolloutServer.ts    the calls of one server; connection.ts: requests, limits, repetition
 *   dialect.ts          what differs between vLLM and SGLang
 *   settings.ts         what a run says of its servers
 *
 * Only adapters move, as PEFT folders that all machines see. Log-probabilities must be those of the unfiltered tempered
 * softmax, as `Completion` says; where a server has none, our own stand in, so that their ratio is 1.
 */
import { AppError, invalidConfig, invalidData } from '#shared/errors.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RandomStream } from '#shared/random.ts'
import type {
  AccumulateOptions,
  AdapterRole,
  Completion,
  GenerateOptions,
  GenerationRequest,
  GradientNorms,
  Heads,
  LossCoefficients,
  Policy,
  PolicySnapshot,
  SamplingOptions,
  ScoreOptions,
  TokenSequence,
  UpdateOptions,
  UpdateResult,
} from '#engine/policy.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { AdapterVersions, Lease } from './adapterVersions.ts'
import { type Compared, type GapCheck, scoringOptions } from './gapCheck.ts'
import { ownLogprobs } from './startUp.ts'
import { completeRemotely, type RemoteCompletion } from './remoteCompletion.ts'
import type { RolloutServer } from './rolloutServer.ts'
import type { Job, ServerPool } from './serverPool.ts'
import type { ServerSettings } from './settings.ts'

/** Policy that learns and whose adapters can be read. */
export interface LearningPolicy extends Policy {
  adapterTensors(role: AdapterRole): Promise<readonly NamedTensor[]>
}

export interface RemoteParts {
  readonly local: LearningPolicy
  readonly servers: ServerPool
  readonly versions: AdapterVersions
  readonly settings: ServerSettings
  readonly gaps: GapCheck
  /** Checks a server that did not answer at the start. */
  readonly admit: (server: RolloutServer) => Promise<void>
  /** The servers' limit of prompt plus completion; null: not known. */
  readonly contextLength: () => number | null
}

/** A requested completion: its place, and the request. */
interface Place {
  readonly request: number
  readonly sample: number
  readonly promptIds: Int32Array
  readonly stream: RandomStream
  /** Most tokens. */
  readonly limit: number
  readonly options: GenerateOptions
}

interface CompletionJob extends Job<RemoteCompletion> {
  readonly place: Place
  /** Index among the completions of its round. */
  readonly index: number
}

export class RemotePolicy implements Policy, AsyncDisposable {
  readonly vocabSize: number
  readonly contextLength: number
  readonly learningTokens: number
  readonly sharesPrefixes: boolean
  readonly replicas: number
  readonly #parts: RemoteParts
  #missing = 0
  #retriedBefore = 0

  constructor(parts: RemoteParts) {
    this.vocabSize = parts.local.vocabSize
    this.contextLength = parts.local.contextLength
    this.learningTokens = parts.local.learningTokens
    this.sharesPrefixes = parts.local.sharesPrefixes
    this.replicas = parts.local.replicas
    this.#parts = parts
  }

  /**
   * Requests that come later are taken when those before are done. Errors: AppError 'server/unreachable' after all
   * attempts, 'server/unsuitable' when the log-probabilities are too far from our own; then no completion may be learned from.
   */
  async *generate(
    requests: readonly GenerationRequest[],
    options: GenerateOptions,
  ): AsyncGenerator<Completion> {
    const { servers, versions, admit } = this.#parts
    await servers.tryAgain(admit)
    for await (const [round, first] of roundsOf(requests, options)) {
      using adapter = options.role === 'base' ? null : await versions.use(options.role)
      yield* this.#comparedRound(round, first, options, adapter)
    }
  }

  /**
   * Parameters are compared with the servers' now, since those here are about to change. Missing log-probabilities stay NaN.
   * Errors: as `generate`.
   */
  async snapshot(): Promise<PolicySnapshot> {
    const { servers, versions, gaps, admit } = this.#parts
    await servers.tryAgain(admit)
    const adapter = await versions.use('actor')
    const dispose = () => adapter[Symbol.dispose]()
    try {
      await servers.onEach((server) => gaps.probe(server, adapter.name))
    } catch (error) {
      dispose()
      throw error
    }
    return {
      generate: (requests, options) => this.#generateWith(adapter, requests, options),
      [Symbol.dispose]: dispose,
    }
  }

  async *#generateWith(
    actor: Lease,
    requests: readonly GenerationRequest[],
    options: GenerateOptions,
  ): AsyncGenerator<Completion> {
    const { role } = options
    if (role !== 'actor' && role !== 'base') throw new Error(`Expected the actor of a snapshot, got ${role}.`)
    const adapter = role === 'base' ? null : actor
    for await (const [round, first] of roundsOf(requests, options)) {
      for await (const { place, made } of this.#round(round, first, options, adapter)) yield told(place, made)
    }
  }

  /** Generates a round whose log-probabilities are completed and checked by the learner's own. */
  async *#comparedRound(
    requests: readonly GenerationRequest[],
    first: number,
    options: GenerateOptions,
    adapter: Lease | null,
  ): AsyncGenerator<Completion> {
    const { settings, gaps } = this.#parts
    const compared: Compared[] = []
    const samples = requests.reduce((sum, { streams }) => sum + streams.length, 0)
    const isCompared = spread(samples, settings.gapCompletions)
    for await (const { place, made, server, index } of this.#round(requests, first, options, adapter)) {
      const isNew = compared.every((each) => each.server !== server)
      if (isCompared(index) || isNew) compared.push({ ...place, ...made, server })
      yield await this.#finished(place, made)
    }
    await gaps.require(compared)
  }

  /** The requests from number `first` on, completed by the servers. */
  async *#round(
    requests: readonly GenerationRequest[],
    first: number,
    options: GenerateOptions,
    adapter: Lease | null,
  ) {
    const planned = requests.map((request) => {
      const sampling = request.sampling ?? options.sampling
      requireUnfiltered(sampling)
      return { ...request, limit: this.#limitOf(request, sampling), options: { ...options, sampling } }
    })
    const places = planned.flatMap(({ streams, ...rest }, i) =>
      streams.map((stream, sample): Place => ({ ...rest, request: first + i, sample, stream })),
    )
    const jobs = places.map((place, index): CompletionJob => {
      const wanted = { ...place, adapter, vocabSize: this.vocabSize }
      return {
        place,
        index,
        group: place.request,
        tokens: place.promptIds.length + place.limit,
        run: (server, signal) => completeRemotely(server, wanted, place.options, signal),
      }
    })
    const leaving = new AbortController()
    const signal = AbortSignal.any([leaving.signal, ...(options.signal ? [options.signal] : [])])
    try {
      const done = this.#parts.servers.run<RemoteCompletion, CompletionJob>(jobs, signal)
      for await (const { job, server, value } of done) {
        const { place, index } = job
        const made = { ...value, logprobs: this.#knownLogprobs(value, place.options) }
        const { request, sample } = place
        for (const [i, id] of made.ids.entries()) {
          options.onToken?.({ request, sample, id, logprob: made.logprobs[i] ?? NaN, top: [] })
        }
        yield { index, place, server, made }
      }
    } finally {
      leaving.abort()
    }
  }

  /**
   * Returns the log-probabilities; NaN where there is none, or none that counts: while a completion may not end yet,
   * the server computes them without the ids that would end it.
   */
  #knownLogprobs({ logprobs }: RemoteCompletion, { sampling }: GenerateOptions): readonly number[] {
    const counting = logprobs.map((value, i) => (i < sampling.minNewTokens ? NaN : value))
    this.#missing += logprobs.slice(sampling.minNewTokens).filter((value) => !Number.isFinite(value)).length
    return counting
  }

  /** Returns the most tokens of a completion. Errors: AppError 'data/invalid', 'server/unsuitable'. */
  #limitOf({ promptIds }: GenerationRequest, sampling: SamplingOptions): number {
    const { servers, contextLength } = this.#parts
    const limit = Math.min(sampling.maxNewTokens, this.contextLength - promptIds.length)
    if (promptIds.length === 0 || limit < 1) {
      throw invalidData(
        `A prompt of ${promptIds.length} tokens cannot be completed in a context of ${this.contextLength}.`,
        'A prompt needs at least one token, and the completion needs room for one more.',
      )
    }
    const longest = contextLength()
    if (longest === null || promptIds.length + limit <= longest) return limit
    throw new AppError(
      'server/unsuitable',
      `The rollout server accepts ${longest} tokens of prompt plus completion, but ${promptIds.length + limit} are needed.`,
      servers.servers[0]?.launchHint,
    )
  }

  async #finished(place: Place, made: RemoteCompletion): Promise<Completion> {
    const completion = told(place, made)
    const { logprobs, ids } = completion
    if (!logprobs.some(Number.isNaN)) return completion
    const { promptIds, options } = place
    const [own] = await ownLogprobs(this.#parts.local, [{ promptIds, ids }], scoringOptions(options))
    return {
      ...completion,
      logprobs: logprobs.map((value, i) => (Number.isNaN(value) ? (own?.[i] ?? 0) : value)),
    }
  }

  /** Returns the metrics since the last call. */
  takeMetrics(): Metrics {
    const { servers, versions, gaps } = this.#parts
    const [gap, missing, retried] = [gaps.take(), this.#missing, servers.retried - this.#retriedBefore]
    const handOver = versions.takeHandOverSeconds()
    this.#missing = 0
    this.#retriedBefore = servers.retried
    return {
      ...(gap.tokens === 0
        ? {}
        : {
            'sampling/server_logp_difference/mean': gap.mean,
            'sampling/server_logp_difference/max': gap.max,
          }),
      ...(missing === 0 ? {} : { 'sampling/server_missing_logprobs': missing }),
      ...(handOver === 0 ? {} : { 'time/handover': handOver }),
      ...(servers.size === 1 ? {} : { 'rollout/servers': servers.servers.length }),
      'rollout/server_retries': retried,
      'rollout/server_adapters': versions.loaded,
    }
  }

  takeNotes(): readonly string[] {
    return [...this.#parts.servers.takeNotes(), ...(this.#parts.local.takeNotes?.() ?? [])]
  }

  score(sequences: readonly TokenSequence[], options: ScoreOptions): Promise<Heads[]> {
    return this.#parts.local.score(sequences, options)
  }

  accumulate(
    sequences: readonly TokenSequence[],
    options: AccumulateOptions,
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ): Promise<Heads[]> {
    return this.#parts.local.accumulate(sequences, options, coefficients)
  }

  gradientNorms(): Promise<GradientNorms> {
    return this.#parts.local.gradientNorms()
  }

  update(options: UpdateOptions): Promise<UpdateResult> {
    this.#parts.versions.changed('actor', 'critic')
    return this.#parts.local.update(options)
  }

  discardGradients(): void {
    this.#parts.local.discardGradients()
  }

  refreshReference(mix: number): Promise<void> {
    this.#parts.versions.changed('reference')
    return this.#parts.local.refreshReference(mix)
  }

  /** Closes the connections; adapters stay loaded and the local policy open. */
  [Symbol.dispose](): void {
    this.#parts.servers[Symbol.dispose]()
  }

  /** Ends the policy; also unloads and deletes its adapters. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.versions.clear()
    this[Symbol.dispose]()
  }
}

const told = ({ request, sample }: Place, { ids, logprobs, stopReason }: RemoteCompletion): Completion => ({
  request,
  sample,
  stopReason,
  ids: Int32Array.from(ids),
  logprobs: Float64Array.from(logprobs),
})

/**
 * Yields rounds, each with the number of its first request: requests that come later are sent when all before are done.
 */
async function* roundsOf(
  requests: readonly GenerationRequest[],
  { later }: GenerateOptions,
): AsyncGenerator<readonly [requests: readonly GenerationRequest[], first: number]> {
  let first = 0
  for (let round: readonly GenerationRequest[] | null = requests; round !== null;) {
    yield [round, first]
    first += round.length
    round = (await later?.(true)) ?? null
  }
}

/** Errors: AppError 'config/invalid'. */
function requireUnfiltered({ topK, topP, minP, repetitionPenalty }: SamplingOptions): void {
  if (topK === 0 && topP === 1 && minP === 0 && repetitionPenalty === 1) return
  throw invalidConfig(
    'A rollout server returns log-probabilities after filtering, which differ from those that learning computes.',
    'Switch off top-k, top-p, min-p and the repetition penalty.',
  )
}

/** Returns a test for the places among `count` evenly spaced ones of all; all pass where there are fewer. */
function spread(all: number, count: number): (place: number) => boolean {
  const every = Math.max(1, all / count)
  return (place) => place === 0 || Math.floor(place / every) > Math.floor((place - 1) / every)
}

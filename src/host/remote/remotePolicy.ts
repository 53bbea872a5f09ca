/**
 * A policy that learns here and acts on a vLLM or SGLang server. Reading guide of this folder:
 *
 *   remotePolicy.ts     (here) generates there, scores and learns here, and compares the two
 *   startUp.ts          what is asked of a server before it is trusted
 *   adapterVersions.ts  the adapter as folders under versioned names: written, loaded, unloaded, deleted
 *   remoteCompletion.ts one completion, and where it ends
 *   rolloutServer.ts    the server's calls; connection.ts: requests, limits, repetition
 *   dialect.ts          what differs between servers; vllm.ts, sglang.ts
 *   settings.ts         what a run says of its server
 *
 * Only adapters move, as PEFT folders that both machines see. Log-probabilities must be those of the unfiltered tempered
 * softmax, as `Completion` says; where the server has none, our own stand in, so that their ratio is 1.
 */
import { AppError } from '#shared/errors.ts'
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
  SamplingOptions,
  ScoreOptions,
  TokenSequence,
  UpdateOptions,
  UpdateResult,
} from '#engine/policy.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AdapterVersions } from './adapterVersions.ts'
import { bothGaps, type Gap, gapBetween, noGap, ownLogprobs, checkAdapter, checkServer } from './startUp.ts'
import { completeRemotely, type RemoteCompletion } from './remoteCompletion.ts'
import { RolloutServer } from './rolloutServer.ts'
import { readApiKey, type ServerSettings } from './settings.ts'

/** What learns: a policy whose adapters can be read. */
export interface LearningPolicy extends Policy {
  adapterTensors(role: AdapterRole): readonly NamedTensor[]
}

export interface RemotePolicyOptions {
  readonly settings: ServerSettings
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  /** Of the base model, named in the command that starts a server. */
  readonly modelFolder: string
  /** Names of adapters begin with it; no other living process uses it. */
  readonly name: string
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  /** Called before every request. */
  readonly onRequest: () => void
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Opens the connection and checks the server, with the adapter as it is now. Errors: AppError 'server/…', 'config/invalid', 'file/unwritable'. */
export async function openRemotePolicy(
  local: LearningPolicy,
  options: RemotePolicyOptions,
): Promise<RemotePolicy> {
  const { settings, lora, baseModel, name, tokenizer } = options
  const launch = {
    model: settings.model ?? options.modelFolder,
    rank: lora.rank,
    adapters: settings.keepVersions + 1,
    contextLength: local.contextLength,
  }
  const apiKey = readApiKey(settings, options.environment)
  const server = new RolloutServer({ settings, apiKey, onRequest: options.onRequest, launch })
  const tensors = (role: AdapterRole) => local.adapterTensors(role)
  const versions = new AdapterVersions({ server, settings, lora, baseModel, name, tensors })
  const startUp = { server, policy: local, tokenizer, gapLimit: settings.gapLimit }
  try {
    const contextLength = await checkServer(startUp)
    await versions.clearLeftovers()
    using actor = await versions.use('actor')
    await checkAdapter(startUp, actor.name)
    return new RemotePolicy({ local, server, versions, settings, contextLength })
  } catch (error) {
    await versions.clear()
    server[Symbol.dispose]()
    throw error
  }
}

interface Parts {
  readonly local: LearningPolicy
  readonly server: RolloutServer
  readonly versions: AdapterVersions
  readonly settings: ServerSettings
  /** The server's limit of prompt plus completion; null: not known. */
  readonly contextLength: number | null
}

/** A completion asked for: its place, and what was asked. */
interface Place {
  readonly request: number
  readonly sample: number
  readonly promptIds: Int32Array
  readonly stream: RandomStream
  /** Most tokens. */
  readonly limit: number
  readonly options: GenerateOptions
}

/** One whose log-probabilities are compared: NaN where there is nothing to compare. */
interface Compared extends Pick<Place, 'promptIds' | 'options'> {
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
}

export class RemotePolicy implements Policy, AsyncDisposable {
  readonly vocabSize: number
  readonly contextLength: number
  readonly learningTokens: number
  readonly sharesPrefixes: boolean
  readonly replicas: number
  readonly #parts: Parts
  #gap: Gap = noGap
  #missing = 0
  #retriedBefore = 0

  constructor(parts: Parts) {
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
    const asked: GenerationRequest[] = []
    for (let round: readonly GenerationRequest[] | null = requests; round !== null;) {
      const first = asked.length
      asked.push(...round)
      yield* this.#generateRound(round, first, options)
      round = (await options.later?.(true)) ?? null
    }
  }

  /** The requests from number `first` on. */
  async *#generateRound(
    requests: readonly GenerationRequest[],
    first: number,
    options: GenerateOptions,
  ): AsyncGenerator<Completion> {
    const planned = requests.map((request) => {
      const sampling = request.sampling ?? options.sampling
      requireUnfiltered(sampling)
      return { ...request, limit: this.#limitOf(request, sampling), options: { ...options, sampling } }
    })
    const { server, versions, settings } = this.#parts
    using adapter = options.role === 'base' ? null : await versions.use(options.role)
    const leaving = new AbortController()
    const signal = AbortSignal.any([leaving.signal, ...(options.signal ? [options.signal] : [])])
    const places = planned.flatMap(({ streams, ...rest }, i) =>
      streams.map((stream, sample): Place => ({ ...rest, request: first + i, sample, stream })),
    )
    const jobs = places.map((place) => async () => {
      const wanted = { ...place, adapter, vocabSize: this.vocabSize }
      return { place, made: await completeRemotely(server, wanted, place.options, signal) }
    })
    const toCompare = new Set(spread(places, settings.gapCompletions))
    const compared: Compared[] = []
    try {
      for await (const { place, made } of inParallel(jobs, settings.maxConcurrent)) {
        const known = this.#knownLogprobs(made, place.options)
        if (toCompare.has(place)) compared.push({ ...place, ids: made.ids, logprobs: known })
        const { request, sample } = place
        for (const [i, id] of made.ids.entries()) {
          options.onToken?.({ request, sample, id, logprob: known[i] ?? NaN, top: [] })
        }
        yield await this.#finished(place, { ...made, logprobs: known })
      }
    } finally {
      leaving.abort()
    }
    const alike = Map.groupBy(compared, (each) => scoringOptions(each.options).temperature)
    for (const [temperature, some] of alike)
      await this.#requireSmallGap(some, { ...scoringOptions(options), temperature })
  }

  /** NaN where there is none, or none that counts: an id that may not end yet is left out of what the server tells. */
  #knownLogprobs({ logprobs }: RemoteCompletion, { sampling }: GenerateOptions): readonly number[] {
    const counting = logprobs.map((value, i) => (i < sampling.minNewTokens ? NaN : value))
    this.#missing += logprobs.slice(sampling.minNewTokens).filter((value) => !Number.isFinite(value)).length
    return counting
  }

  /** Most tokens of a completion. Errors: AppError 'data/invalid', 'server/unsuitable'. */
  #limitOf({ promptIds }: GenerationRequest, sampling: SamplingOptions): number {
    const { server, contextLength } = this.#parts
    const limit = Math.min(sampling.maxNewTokens, this.contextLength - promptIds.length)
    if (promptIds.length === 0 || limit < 1) {
      throw new AppError(
        'data/invalid',
        `A prompt of ${promptIds.length} tokens cannot be completed in a context of ${this.contextLength}.`,
        'A prompt needs at least one token, and the completion needs room for one more.',
      )
    }
    if (contextLength === null || promptIds.length + limit <= contextLength) return limit
    throw server.unsuitable(
      `The rollout server accepts ${contextLength} tokens of prompt plus completion, but ${promptIds.length + limit} are needed.`,
    )
  }

  async #finished(place: Place, made: RemoteCompletion): Promise<Completion> {
    const { request, sample, promptIds, options } = place
    const { ids, stopReason } = made
    const completion = { request, sample, ids: Int32Array.from(ids), stopReason }
    const logprobs = Float64Array.from(made.logprobs)
    if (!logprobs.some(Number.isNaN)) return { ...completion, logprobs }
    const [own] = await ownLogprobs(this.#parts.local, [{ promptIds, ids }], scoringOptions(options))
    return {
      ...completion,
      logprobs: logprobs.map((value, i) => (Number.isNaN(value) ? (own?.[i] ?? 0) : value)),
    }
  }

  async #requireSmallGap(
    compared: readonly Compared[],
    scoring: ReturnType<typeof scoringOptions>,
  ): Promise<void> {
    const own = await ownLogprobs(this.#parts.local, compared, scoring)
    const gap = compared.map(({ logprobs }, i) => gapBetween(logprobs, own[i] ?? [])).reduce(bothGaps, noGap)
    this.#gap = bothGaps(this.#gap, gap)
    const { gapLimit } = this.#parts.settings
    const { server } = this.#parts
    const isUntold =
      compared.some(({ ids, options }) => ids.length > options.sampling.minNewTokens) && gap.tokens === 0
    if (isUntold) {
      const { title, remedies } = server.dialect
      throw server.unsuitable(
        `The rollout server (${title}) stopped returning log-probabilities: ${remedies.logprobs}.`,
      )
    }
    if (gap.mean <= gapLimit) return
    throw new AppError(
      'server/unsuitable',
      `The log-probabilities of the rollout server differ from Turnwise’s by ${gap.mean.toPrecision(3)} nats per token, more than rollout.server.gapLimit (${gapLimit}).`,
      `It may have lost the adapter, or its precision may be too low. ${server.launchHint}`,
    )
  }

  /** What there is to report since the last time. */
  takeMetrics(): Metrics {
    const { server, versions } = this.#parts
    const [gap, missing, retried] = [this.#gap, this.#missing, server.retried - this.#retriedBefore]
    this.#gap = noGap
    this.#missing = 0
    this.#retriedBefore = server.retried
    return {
      ...(gap.tokens === 0
        ? {}
        : {
            'sampling/server_logp_difference/mean': gap.mean,
            'sampling/server_logp_difference/max': gap.max,
          }),
      ...(missing === 0 ? {} : { 'sampling/server_missing_logprobs': missing }),
      'rollout/server_retries': retried,
      'rollout/server_adapters': versions.loaded,
    }
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

  gradientNorms(): GradientNorms {
    return this.#parts.local.gradientNorms()
  }

  update(options: UpdateOptions): UpdateResult {
    this.#parts.versions.changed('actor', 'critic')
    return this.#parts.local.update(options)
  }

  discardGradients(): void {
    this.#parts.local.discardGradients()
  }

  refreshReference(mix: number): void {
    this.#parts.versions.changed('reference')
    this.#parts.local.refreshReference(mix)
  }

  /** Lets the connection go; adapters stay loaded and the local policy open. */
  [Symbol.dispose](): void {
    this.#parts.server[Symbol.dispose]()
  }

  /** Also unloads and deletes its adapters. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.versions.clear()
    this[Symbol.dispose]()
  }
}

const scoringOptions = ({ role, sampling, signal }: GenerateOptions) => ({
  role,
  temperature: sampling.greedy ? 1 : sampling.temperature,
  ...(signal === undefined ? {} : { signal }),
})

/** Errors: AppError 'config/invalid'. */
function requireUnfiltered({ topK, topP, minP, repetitionPenalty }: SamplingOptions): void {
  if (topK === 0 && topP === 1 && minP === 0 && repetitionPenalty === 1) return
  throw new AppError(
    'config/invalid',
    'A rollout server returns log-probabilities after filtering, which differ from those that learning computes.',
    'Switch off top-k, top-p, min-p and the repetition penalty.',
  )
}

/** So many of them, evenly spaced, or all where there are fewer. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  const every = Math.max(1, items.length / count)
  return items.filter((_, i) => i === 0 || Math.floor(i / every) > Math.floor((i - 1) / every))
}

/** Runs jobs, so many at once, and yields their results as they come. The first error ends it; others are let go. */
async function* inParallel<T>(jobs: readonly (() => Promise<T>)[], limit: number): AsyncGenerator<T> {
  type Settled = { readonly place: number } & ({ readonly value: T } | { readonly error: unknown })
  const running = new Map<number, Promise<Settled>>()
  let next = 0
  const start = (place: number): void => {
    const job = jobs[place]
    if (job === undefined) return
    const settled = job().then(
      (value): Settled => ({ place, value }),
      (error: unknown): Settled => ({ place, error }),
    )
    running.set(place, settled)
  }
  while (next < jobs.length && running.size < limit) start(next++)
  while (running.size > 0) {
    const settled = await Promise.race(running.values())
    running.delete(settled.place)
    if ('error' in settled) throw settled.error
    if (next < jobs.length) start(next++)
    yield settled.value
  }
}

/** Turns the requests of a workflow's episodes into requests of one batch, and the completions into their answers. */
import type {
  Completion,
  GenerateOptions,
  GenerationRequest,
  Policy,
  SamplingOptions,
} from '#engine/policy.ts'
import { AppError } from '#shared/errors.ts'
import { randomStream, type RandomStream } from '#shared/random.ts'
import { offeredTools, type OfferedTools } from '#engine/text/toolCalls.ts'
import type { GenerateAsk } from './workflow.ts'
import type { EpisodeNews, OpenEpisode, ToldCompletion } from './openEpisode.ts'
import { calledAnswer, completionText } from './rollout.ts'
import { messagePrompt, type WorkflowToolOptions } from './workflowTools.ts'

export interface BatchOptions {
  readonly policy: Pick<Policy, 'vocabSize' | 'contextLength'>
  readonly generate: GenerateOptions
  /** Text of generated ids, without special tokens. */
  readonly decode: (ids: Iterable<number>) => string
  readonly tools: WorkflowToolOptions
  readonly seed: number
  readonly step: number
  /** Number of steps that the policy has learned from. */
  readonly version: number
  readonly onNews?: ((news: EpisodeNews) => void) | undefined
}

/** A request of an episode that the policy completes. */
export interface Want {
  readonly episode: OpenEpisode
  /** Index among the episode's requests. */
  readonly number: number
  readonly promptIds: Int32Array
  /** null if the episode gave the ids itself. */
  readonly messageIds: Int32Array | null
  /** Functions that the policy may call; null: none. */
  readonly offered: OfferedTools | null
  readonly sampling: SamplingOptions
  readonly streams: readonly RandomStream[]
  readonly asksForList: boolean
  readonly completions: (Completion | undefined)[]
}

type MessagePrompt = ReturnType<typeof messagePrompt>

/** Random stream of a greedy completion, which never draws. */
const undrawn = randomStream(0)

export class BatchRequests {
  readonly #options: BatchOptions
  /** Request that each sample belongs to, by index of the batch's request. */
  readonly #places: { readonly want: Want; readonly sample: number }[][] = []
  readonly #samplings = new Map<string, SamplingOptions>()
  readonly #openings = new Map<string, MessagePrompt>()

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /**
   * Takes up a request. If the prompt leaves no room, answers it at once and returns null. Errors: AppError if the
   * prompt is empty, or the template does not accept such messages, or if completions would have to be longer than they
   * may be.
   */
  want(episode: OpenEpisode, number: number, ask: GenerateAsk): Want | null {
    const { tools, policy } = this.#options
    const prompt = ask.ids ? { ids: Int32Array.from(ask.ids) } : this.#promptOf(ask, number)
    const { ids: promptIds } = prompt
    requireReadable(promptIds, policy)
    const offered =
      ask.tools === undefined ? null : offeredTools(tools.chatTemplate, ask.tools, this.#end(promptIds))
    const sampling = this.#samplingOf(ask)
    requirePossible(sampling)
    const messageIds = ask.ids ? null : promptIds
    const asksForList = ask.samples !== undefined
    if (promptIds.length > policy.contextLength - sampling.maxNewTokens) {
      const { version } = this.#options
      const none = { text: '', ids: [], logprobs: [], version, finishReason: 'context' } as const
      const completions = Array.from({ length: ask.samples ?? 1 }, () => none)
      this.#tell({ episode, number, messageIds, asksForList }, completions)
      return null
    }
    if ('text' in prompt) episode.prompts.push(prompt)
    this.#options.onNews?.({ type: 'prompt', number, ids: promptIds, sampling })
    const streams = this.#streamsOf(episode, sampling, ask.samples ?? 1)
    const completions = Array.from<undefined>({ length: streams.length })
    episode.waiting += streams.length
    return { episode, number, promptIds, messageIds, offered, sampling, streams, asksForList, completions }
  }

  /** The prompt that messages make; that of a first request is mostly the same for all episodes of a row. */
  #promptOf({ messages = [], tools }: GenerateAsk, number: number): MessagePrompt {
    if (number > 0) return messagePrompt(messages, this.#options.tools, tools)
    const key = JSON.stringify([messages, tools])
    const known = this.#openings.get(key) ?? messagePrompt(messages, this.#options.tools, tools)
    this.#openings.set(key, known)
    return known
  }

  /** Text of the last tokens of a prompt. */
  #end(ids: Int32Array): string {
    return this.#options.tools.tokenizer.decode(ids.subarray(-4), { skipSpecialTokens: false })
  }

  /** One object per way of sampling; the run's own if nothing differs. */
  #samplingOf(ask: GenerateAsk): SamplingOptions {
    const { sampling: runSampling } = this.#options.generate
    const asked: Partial<Record<string, unknown>> = { ...ask, stopStrings: ask.stop }
    const said = Object.entries(runSampling).map(([name, value]) => [name, asked[name] ?? (value as unknown)])
    const all = Object.fromEntries(said) as SamplingOptions
    const key = JSON.stringify(all)
    const known = this.#samplings.get(key) ?? (key === JSON.stringify(runSampling) ? runSampling : all)
    this.#samplings.set(key, known)
    return known
  }

  /**
   * The first sampled completion of an episode draws the same tokens as one without a workflow: from (seed, step, row,
   * sample), or, as in an environment's turns, with its index appended. Greedy ones draw nothing.
   */
  #streamsOf(episode: OpenEpisode, { greedy }: SamplingOptions, samples: number): RandomStream[] {
    if (greedy) return Array.from({ length: samples }, () => undrawn)
    const { seed, step, tools } = this.#options
    const number = episode.drawn++
    const isPlain = number === 0 && tools.environment === null
    const address = [seed, step, episode.row.row, episode.sample]
    return Array.from({ length: samples }, (_, k) =>
      k > 0 ? randomStream(...address, number, k) : randomStream(...address, ...(isPlain ? [] : [number])),
    )
  }

  /**
   * Turns wants into requests of the batch; episodes of a row with the same request share the computation of the
   * prompt.
   */
  place(wants: readonly Want[]): GenerationRequest[] {
    const samplings = [...this.#samplings.values()]
    const alike = Map.groupBy(wants, ({ episode, promptIds, sampling }) =>
      [episode.group, samplings.indexOf(sampling), promptIds.join(' ')].join('/'),
    )
    return Array.from(alike.values(), (members) => {
      const [{ promptIds, sampling }] = members as [Want, ...Want[]]
      this.#places.push(members.flatMap((want) => want.streams.map((_, sample) => ({ want, sample }))))
      const streams = members.flatMap((want) => want.streams)
      const own = sampling === this.#options.generate.sampling ? {} : { sampling }
      return { promptIds, streams, ...own }
    })
  }

  /** Adds a completion to its episode, and returns the episode if that was the last one it waited for. */
  take(completion: Completion): OpenEpisode | null {
    const place = this.#places[completion.request]?.[completion.sample]
    if (!place) throw new Error(`Expected a request below ${this.#places.length}, got ${completion.request}.`)
    const { want, sample } = place
    const { episode, completions } = want
    completions[sample] = completion
    episode.tokens += completion.ids.length
    const known = completions.filter((each) => each !== undefined)
    if (known.length === completions.length) this.#answer(want, known)
    return --episode.waiting === 0 ? episode : null
  }

  #answer(want: Want, completions: readonly Completion[]): void {
    const { episode, promptIds, offered, sampling } = want
    const { generate, decode, version, tools } = this.#options
    const { maxNewTokens } = sampling
    const told = completions.map((completion): ToldCompletion => {
      const { ids, logprobs, stopReason, routes } = completion
      const written = completionText(completion, { ...generate, sampling }, decode)
      const answer = offered && calledAnswer(completion, { ...generate, sampling }, offered, tools.tokenizer)
      const text = answer?.content ?? written
      const record = { promptIds, ids, logprobs, stopReason, text: written, maxNewTokens }
      episode.generated.push({ ...record, ...(routes && { routes }) })
      const finishReason = stopReason === 'length' ? 'length' : 'stop'
      const called = answer === null ? {} : { toolCalls: answer.calls }
      return { text, ...called, ids: [...ids], logprobs: shortened(logprobs), version, finishReason }
    })
    this.#tell(want, told)
  }

  #tell({ episode, number, messageIds, asksForList }: Told, completions: readonly ToldCompletion[]): void {
    const promptIds = messageIds === null ? {} : { promptIds: [...messageIds] }
    episode.answers[number] = { completions, isList: asksForList, ...promptIds }
    this.#options.onNews?.({ type: 'completions', number, completions })
  }
}

type Told = Pick<Want, 'episode' | 'number' | 'messageIds' | 'asksForList'>

/** Rounded to the digits that are exact, since they are passed on as text. */
const shortened = (logprobs: Float64Array): number[] =>
  Array.from(logprobs, (logprob) => Number(logprob.toPrecision(8)))

/** Errors: AppError 'data/invalid'. */
function requirePossible({ minNewTokens, maxNewTokens }: SamplingOptions): void {
  if (minNewTokens <= maxNewTokens) return
  throw new AppError(
    'config/invalid',
    `engine.generate: minNewTokens is ${minNewTokens}, but maxNewTokens is ${maxNewTokens}. What a request leaves out is as the run's \`rollout\` section says.`,
  )
}

function requireReadable(ids: Int32Array, { vocabSize }: Pick<Policy, 'vocabSize'>): void {
  if (ids.length === 0) throw new AppError('data/invalid', 'engine.generate: the prompt has no tokens.')
  const unknown = ids.find((id) => id >= vocabSize)
  if (unknown !== undefined) {
    throw new AppError('data/invalid', `engine.generate: the model has no token ${unknown}.`)
  }
}

/**
 * Rollouts by a workflow (../workflow.ts): hundreds of episodes are open at a time and share one continuous batch. Whenever
 * all that an episode asked for is answered, it is run again with the answers, and what it asks next joins the batch.
 *
 *   workflows.ts           (here) the episodes of a step, from first request to trajectory
 *   openEpisode.ts         what one of them asked for and was told
 *   batchRequests.ts       what is asked of the policy; workflowTools.ts: what is answered at once
 *   workflowTrajectory.ts  what came of an episode, checked against the engine's records
 *
 * Nothing depends on timing. A round of an episode begins when all requests of the one before are answered, and its requests
 * join the batch a fixed number of passes after that, however long it took to run them. Of a live workflow they join when they
 * come: what is generated is the same, since a completion depends on its episode and number alone.
 */
import type { Completion, GenerationRequest, Policy } from '#engine/policy.ts'
import type { PhaseProgress } from '#shared/events.ts'
import {
  type AskedRequest,
  type AskedText,
  episodeLimits,
  type EpisodeRun,
  type EpisodePlace,
  type EpisodeStep,
  type LiveWorkflow,
  type Workflow,
} from './workflow.ts'
import { BatchRequests, type Want } from './batchRequests.ts'
import {
  endedEpisode,
  type EpisodeBatch,
  type EpisodeNews,
  type OpenEpisode,
  openEpisodes,
} from './openEpisode.ts'
import type { RolloutOptions } from './rollout.ts'
import type { UnscoredTrajectory } from './trajectory.ts'
import {
  answerText,
  answerTools,
  type ToolRequest,
  trying,
  type WorkflowToolOptions,
} from './workflowTools.ts'
import {
  endedEarly,
  returnedTrajectories,
  TrajectoryFault,
  type TrajectoryParts,
} from './workflowTrajectory.ts'

export interface WorkflowRequest extends EpisodeBatch {
  readonly onProgress?: (done: PhaseProgress) => void
  /** Called with news, only for a single episode: the news do not say which episode they are from. */
  readonly onNews?: (news: EpisodeNews) => void
}

export interface WorkflowOptions extends RolloutOptions {
  readonly policy: Pick<Policy, 'generate' | 'vocabSize' | 'contextLength'>
  readonly workflow: Workflow | LiveWorkflow
  readonly tools: WorkflowToolOptions
}

/**
 * Plays every row `groupSize` times; returns groups in order, samples in order, with the trajectories that each episode
 * returned.
 */
export async function playWorkflow(
  request: WorkflowRequest,
  options: WorkflowOptions,
): Promise<UnscoredTrajectory[]> {
  const play = new Play(request, options)
  const { policy, generate } = options
  const first = await play.begin()
  const later = (isIdle: boolean) => play.later(isIdle)
  if (first.length > 0) {
    for await (const completion of policy.generate(first, { ...generate, later })) play.take(completion)
  }
  return play.trajectories()
}

/**
 * Number of passes of the batch after which the next requests of an episode join it. Episodes run in their own process
 * while these passes are computed; more passes would leave rows empty when few episodes are open.
 */
const latency = 2

/** A new request of an episode, with its index. */
interface Asking {
  readonly episode: OpenEpisode
  readonly number: number
  readonly request: AskedRequest['request']
}

class Play {
  readonly #request: WorkflowRequest
  readonly #options: WorkflowOptions
  readonly #parts: TrajectoryParts
  readonly #batch: BatchRequests
  readonly #episodes: readonly OpenEpisode[]
  /** Episodes whose round is complete. */
  #ready: OpenEpisode[] = []
  readonly #underway: { readonly pass: number; readonly wants: Promise<Want[]> }[] = []
  /** Requests of live episodes that have come, and a promise of the next ones. */
  readonly #arrived: Want[] = []
  #arrival = Promise.withResolvers<undefined>()
  /** Live episodes that somebody acts in. */
  #acting = 0
  #fault: { readonly error: unknown } | null = null
  #passes = 0
  /** Episodes that have ended. */
  #ended = 0

  constructor(request: WorkflowRequest, options: WorkflowOptions) {
    const { seed, step, source } = request
    const { decode, policy } = options
    this.#request = request
    this.#options = options
    const { hasCritic } = options.tools
    this.#parts = { decode, hasCritic, contextLength: policy.contextLength, vocabSize: policy.vocabSize }
    this.#batch = new BatchRequests({
      ...options,
      seed,
      step,
      onNews: request.onNews,
      version: request.version ?? (source === 'training' ? step - 1 : step),
    })
    this.#episodes = openEpisodes(request)
  }

  /** The first requests of all episodes. */
  async begin(): Promise<GenerationRequest[]> {
    this.#tell()
    if (!isLive(this.#options.workflow)) return this.#batch.place(await this.#advance(this.#episodes))
    this.#ready.push(...this.#episodes)
    return (await this.#laterLive(true)) ?? []
  }

  take(completion: Completion): void {
    const episode = this.#batch.take(completion)
    if (episode !== null) this.#ready.push(episode)
  }

  /** The requests that join the batch before its next pass; null when every episode has ended. */
  async later(isIdle: boolean): Promise<GenerationRequest[] | null> {
    if (isLive(this.#options.workflow)) return this.#laterLive(isIdle)
    this.#passes++
    if (this.#ready.length > 0) {
      const wants = this.#advance(this.#ready)
      // Awaited some passes later.
      wants.catch(() => undefined)
      this.#underway.push({ pass: this.#passes, wants })
      this.#ready = []
    }
    const due = this.#underway.filter(({ pass }) => isIdle || pass + latency <= this.#passes)
    this.#underway.splice(0, due.length)
    const wants = await Promise.all(due.map((each) => each.wants))
    const requests = this.#batch.place(wants.flat())
    return isIdle && requests.length === 0 ? null : requests
  }

  /** The requests that have come; where the batch is empty, waits for some. */
  async #laterLive(isIdle: boolean): Promise<GenerationRequest[] | null> {
    for (const episode of this.#ready.splice(0)) {
      this.#acting++
      this.#advance([episode]).then(
        (wants) => this.#arrive(wants),
        (error: unknown) => {
          this.#fault = { error }
          this.#arrive([])
        },
      )
    }
    while (isIdle && this.#acting > 0 && this.#arrived.length === 0 && this.#fault === null)
      await this.#arrival.promise
    await this.#allArrived()
    if (this.#fault !== null) throw this.#fault.error
    const requests = this.#batch.place(this.#arrived.splice(0))
    return isIdle && requests.length === 0 ? null : requests
  }

  /** Waits for requests that are on their way: a pass for one row takes nearly as long as one for many. */
  async #allArrived(): Promise<void> {
    for (let known = -1; known < this.#arrived.length && this.#acting > 0;) {
      known = this.#arrived.length
      await new Promise(setImmediate)
    }
  }

  #arrive(wants: readonly Want[]): void {
    this.#acting--
    this.#arrived.push(...wants)
    this.#arrival.resolve(undefined)
    this.#arrival = Promise.withResolvers<undefined>()
  }

  trajectories(): UnscoredTrajectory[] {
    return this.#episodes.flatMap(({ result }) => {
      if (result === null) throw new Error('Expected every episode to have ended.')
      return result
    })
  }

  /** Runs episodes until each has ended or waits for the policy. */
  async #advance(episodes: readonly OpenEpisode[]): Promise<Want[]> {
    const wants: Want[] = []
    for (let acting = episodes; acting.length > 0;) {
      const steps = await this.#stepsOf(acting)
      const asking = acting.flatMap((episode, i) => this.#settle(episode, steps[i]))
      await this.#answerTools(asking)
      const own = asking.flatMap((each) => this.#wantOf(each))
      wants.push(...own.filter(({ episode }) => episode.result === null))
      this.#ended += acting.filter(({ result }) => result !== null).length
      acting = acting.filter(({ result, waiting }) => result === null && waiting === 0)
    }
    this.#tell()
    return wants
  }

  async #stepsOf(acting: readonly OpenEpisode[]): Promise<readonly EpisodeStep[]> {
    const { workflow } = this.#options
    if (!isLive(workflow)) return workflow.run(acting.map((episode) => this.#runOf(episode)))
    return Promise.all(acting.map((each) => workflow.act(this.#runOf(each), this.#placeOf(each))))
  }

  #placeOf({ row: { row }, sample }: OpenEpisode): EpisodePlace {
    const { source, step } = this.#request
    return { source, step, row, sample }
  }

  #runOf({ row, seed, asked, answers, textAnswers }: OpenEpisode): EpisodeRun {
    const { environment } = this.#options.tools
    return {
      row: row.columns,
      prompt: row.ids.length === 0 ? null : { text: row.text, ids: [...row.ids] },
      environment: environment && { maxTurns: environment.turnsOf?.(row.columns) ?? environment.maxTurns },
      isEvaluation: this.#request.source === 'evaluation',
      seed,
      asked,
      answers,
      textAnswers,
    }
  }

  /** The end of an episode, or its new requests. */
  #settle(episode: OpenEpisode, step: EpisodeStep | undefined): Asking[] {
    if (step === undefined) return this.#fail(episode, 'The workflow returned nothing for this episode.')
    this.#tellLines(episode, step.lines)
    if ('failure' in step) {
      const { message, line = null } = step.failure
      this.#request.onNews?.({ type: 'failed', ...step.failure })
      return this.#fail(episode, line === null ? message : `${message} (line ${line})`)
    }
    if ('trajectories' in step) return this.#end(episode, step)
    if ('asksText' in step) return this.#answerText(episode, step.asksText)
    const first = episode.answers.length
    if (++episode.rounds > episodeLimits.rounds)
      return this.#cutOff(
        episode,
        `The episode did not end within ${episodeLimits.rounds} rounds of requests.`,
      )
    if (episode.tokens > episodeLimits.tokens)
      return this.#cutOff(episode, `The episode generated more than ${episodeLimits.tokens} tokens.`)
    episode.asked.push(...step.requests.map(({ text }) => text))
    const { rounds: round } = episode
    return step.requests.map(({ request }, i) => {
      this.#request.onNews?.({ type: 'request', number: first + i, round, request })
      return { episode, number: first + i, request }
    })
  }

  /** Answers a question for the tokenizer; the episode acts again without waiting for others. */
  #answerText(episode: OpenEpisode, { text, ask }: AskedText): [] {
    if (Object.hasOwn(episode.textAnswers, text))
      return this.#fail(episode, 'The episode asks the tokenizer what it was told before.')
    episode.textAnswers[text] = answerText(ask, this.#options.tools.tokenizer)
    if (Object.keys(episode.textAnswers).length > episodeLimits.texts)
      return this.#cutOff(
        episode,
        `The episode asked the tokenizer more than ${episodeLimits.texts} questions.`,
      )
    return []
  }

  /** Reports the new lines: every run of an episode prints what the runs before it printed, and goes on. */
  #tellLines(episode: OpenEpisode, lines: readonly string[] = []): void {
    const more = lines.slice(episode.printed)
    if (more.length > 0) this.#request.onNews?.({ type: 'printed', lines: more })
    episode.printed = Math.max(episode.printed, lines.length)
  }

  #fail(episode: OpenEpisode, failure: string): [] {
    episode.result = [endedEarly(endedEpisode(episode), failure, this.#parts)]
    return []
  }

  /** Ends an episode that does not know it yet. */
  #cutOff(episode: OpenEpisode, failure: string): [] {
    const { workflow } = this.#options
    if (isLive(workflow)) workflow.ended(this.#placeOf(episode), failure)
    return this.#fail(episode, failure)
  }

  /** A request that cannot be met: the end of an episode, or an answer where somebody acts in it who can ask otherwise. */
  #refuse(episode: OpenEpisode, number: number, fault: string): [] {
    if (!isLive(this.#options.workflow)) return this.#fail(episode, fault)
    episode.answers[number] = { fault }
    return []
  }

  #end(
    episode: OpenEpisode,
    { trajectories, ...logged }: Extract<EpisodeStep, { trajectories: unknown }>,
  ): [] {
    const over = endedEpisode(episode, logged)
    try {
      episode.result =
        trajectories === null || trajectories.length === 0
          ? [endedEarly(over, null, this.#parts)]
          : returnedTrajectories(trajectories, over, this.#parts)
    } catch (error) {
      if (!(error instanceof TrajectoryFault)) throw error
      episode.result = [endedEarly(over, error.message, this.#parts)]
    }
    return []
  }

  async #answerTools(asking: readonly Asking[]): Promise<void> {
    const asks = asking.flatMap(({ episode, number, request }) =>
      request.kind === 'generate' ? [] : [{ episode, number, tool: toolRequest(request, episode) }],
    )
    const tools = asks.map(({ tool }) => tool)
    const answers = await answerTools(tools, this.#options.tools)
    for (const [i, { episode, number }] of asks.entries()) {
      const told = answers[i]
      if (told === undefined) throw new Error('Expected an answer to every request.')
      if ('fault' in told) this.#refuse(episode, number, told.fault)
      else {
        episode.answers[number] = told.answer
        this.#request.onNews?.({ type: 'answer', number, answer: told.answer })
        if (told.prompt) episode.prompts.push(told.prompt)
        if (told.continuation) episode.continuations.push(told.continuation)
      }
    }
  }

  /** null for tool requests, for requests that were answered at once, and for episodes that have ended. */
  #wantOf({ episode, number, request }: Asking): Want[] {
    if (request.kind !== 'generate' || episode.result !== null) return []
    const want = trying(() => this.#batch.want(episode, number, request))
    if (want === null) return []
    return 'fault' in want ? this.#refuse(episode, number, want.fault) : [want]
  }

  #tell(): void {
    this.#request.onProgress?.({ done: this.#ended, total: this.#episodes.length })
  }
}

const isLive = (workflow: Workflow | LiveWorkflow): workflow is LiveWorkflow => 'act' in workflow

const toolRequest = (ask: ToolRequest['ask'], episode: OpenEpisode): ToolRequest => ({
  ask,
  row: episode.row,
  promptText: episode.row.text,
  chance: episode.chance,
  step: ask.kind === 'step' ? episode.steps++ : episode.steps,
})

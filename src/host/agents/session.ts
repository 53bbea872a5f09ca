/**
 * One episode in which an agent acts: its calls become requests of the episode, whose answers come with the next run of it.
 * The agent's side (`complete`, `end`) waits for the run's side (`next`), and the other way round.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { AppError, refusal } from '#shared/errors.ts'
import type { ToolCall } from '#engine/text/toolCalls.ts'
import { parsedWithMarks } from '#shared/exactNumbers.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { ToldCompletion } from '#rl/rollout/openEpisode.ts'
import type {
  AskedRequest,
  EpisodePlace,
  EpisodeRun,
  EpisodeStep,
  GenerateAsk,
  ReturnedReward,
  TextAsk,
} from '#rl/rollout/workflow.ts'
import type { OpenAiRequest } from '#host/serving/openaiRequests.ts'
import { type SessionCall, sessionTrajectories } from './sessionTrajectories.ts'

/** Record of a session that ended. */
export interface KeptSession {
  readonly rounds: readonly (readonly SessionAsk[])[]
  readonly end: SessionEnd
  readonly answers: readonly (readonly ToldCompletion[])[]
}

export type SessionEnd =
  | {
      /** null: no reward; absent: the run's reward functions score it. */
      readonly reward?: number | null | ReturnedReward | undefined
      /** Reward of a call, by its number. */
      readonly callRewards: Readonly<Record<number, number>>
      /** Numbers of calls whose answer nobody waited for. */
      readonly dropped: readonly number[]
    }
  | { readonly failure: string }

/** An answer of the policy, with the prompt as it read it. */
export interface Answered {
  /** Number of the call within its session. */
  readonly number: number
  readonly promptIds: readonly number[]
  readonly completions: readonly ToldCompletion[]
}

interface Answer {
  readonly completions: readonly ToldCompletion[]
  readonly promptIds?: readonly number[]
}

/** Request of a session to its run. */
export type SessionAsk = Exclude<AskedRequest['request'], { kind: 'rewards' | 'reset' | 'step' | 'prompt' }>

interface Waiting {
  readonly ask: SessionAsk | TextAsk
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: AppError) => void
}

/** A call that was answered, as later ones may go on from it. */
interface Known {
  readonly messages: readonly ChatMessage[] | null
  /** Prompt and completion as text; null for a chat. */
  readonly text: string | null
  readonly completion: string
  readonly calls: readonly ToolCall[]
  readonly allIds: readonly number[]
}

export class Session {
  readonly id = randomUUID()
  readonly place: EpisodePlace
  readonly episode: EpisodeRun
  /** Resolved when the run has taken the end and kept it. */
  readonly over = Promise.withResolvers<undefined>()
  /** Requests of each round. */
  readonly #rounds: SessionAsk[][] = []
  #waiting: Waiting[] = []
  #asked: Waiting[] = []
  #wake: (() => void) | null = null
  #end: SessionEnd | null = null
  #isBroken = false
  readonly #generated: Answered[] = []
  readonly #known: Known[] = []
  readonly #dropped: number[] = []
  readonly #maxNewTokens: number

  constructor(place: EpisodePlace, episode: EpisodeRun, maxNewTokens: number) {
    this.place = place
    this.episode = episode
    this.#maxNewTokens = maxNewTokens
  }

  /** Answered calls. */
  get calls(): number {
    return this.#generated.length
  }

  /** True while answers are generated. */
  get isBusy(): boolean {
    return this.#waiting.length + this.#asked.length > 0
  }

  /* The run's side. */

  /** Hands over what was asked, and waits for the next requests or the end. */
  async next({ answers, textAnswers = {} }: EpisodeRun): Promise<EpisodeStep> {
    this.#deliver(answers)
    for (;;) {
      const text = this.#waiting.find(({ ask }) => isText(ask))
      if (text !== undefined) {
        const ask = text.ask as TextAsk
        const known = textAnswers[JSON.stringify(ask)]
        if (known === undefined) return { asksText: { text: JSON.stringify(ask), ask } }
        this.#waiting.splice(this.#waiting.indexOf(text), 1)
        text.resolve(known)
        await new Promise(setImmediate) // what is asked because of it is asked with the others
        continue
      }
      if (this.#waiting.length > 0) return this.#requests()
      if (this.#end !== null) return endStep(this.#end, this.#generated)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** Returns the record for a resumed run; null for a session that broke off. */
  kept(): KeptSession | null {
    if (this.#end === null || this.#isBroken) return null
    const answers = this.#generated.map(({ completions }) => completions)
    return { rounds: this.#rounds, end: this.#end, answers }
  }

  /** Ends a session from outside; what is still asked is refused. */
  break(end: SessionEnd): void {
    if (this.#end === null) {
      this.#end = end
      this.#isBroken = true
    }
    const reason = 'failure' in end ? end.failure : 'The session is over.'
    for (const { reject } of [...this.#waiting.splice(0), ...this.#asked.splice(0)]) reject(refusal(reason))
    this.#wake?.()
  }

  #deliver(answers: readonly unknown[]): void {
    const first = answers.length - this.#asked.length
    for (const [i, { ask, resolve, reject }] of this.#asked.splice(0).entries()) {
      const answer = answers[first + i]
      if (isFault(answer)) reject(new AppError('api/invalid', answer.fault))
      else resolve(ask.kind === 'generate' ? this.#record(ask, answer) : answer)
    }
  }

  #record(ask: GenerateAsk, answer: unknown): Answered {
    const answered = answeredBy(ask, answer, this.calls)
    this.#generated.push(answered)
    return answered
  }

  #requests(): EpisodeStep {
    this.#asked = this.#waiting.splice(0)
    const asks = this.#asked.map(({ ask }) => ask as SessionAsk)
    this.#rounds.push(asks)
    return { requests: asks.map((request) => ({ text: JSON.stringify(request), request })) }
  }

  #ask(ask: SessionAsk | TextAsk): Promise<unknown> {
    if (this.#end !== null) throw refusal('The session is over.')
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ask, resolve, reject })
      this.#wake?.()
    })
  }

  /* The agent's side. */

  /** Answers a request with the policy of the step. Errors: AppError 'api/…'. */
  async complete(request: Pick<OpenAiRequest, 'prompts' | 'samples' | 'sampling'>): Promise<Answered> {
    const [prompt] = request.prompts
    if (prompt === undefined) throw new Error('Expected a prompt.')
    const { maxNewTokens, stopStrings } = request.sampling
    const sampling = {
      samples: request.samples,
      maxNewTokens: Math.min(this.#maxNewTokens, maxNewTokens),
      ...(stopStrings.length === 0 ? {} : { stop: stopStrings }),
    }
    if ('ids' in prompt) return this.#generate({ ids: [...prompt.ids], ...sampling }, {})
    if ('text' in prompt) {
      const ids = await this.#idsOf(prompt.text)
      return this.#generate({ ids, ...sampling }, { text: prompt.text })
    }
    const { messages, tools } = prompt
    const ids = await this.#continued(messages)
    const asked = { ...(ids === null ? { messages } : { ids }), ...(tools && { tools }) }
    return this.#generate({ ...asked, ...sampling }, { messages })
  }

  async #generate(
    ask: Omit<GenerateAsk, 'kind'>,
    { messages = null, text = null }: Partial<Pick<Known, 'messages' | 'text'>>,
  ): Promise<Answered> {
    const answered = (await this.#ask({ kind: 'generate', ...ask })) as Answered
    for (const { ids, text: completion, toolCalls: calls = [] } of answered.completions)
      this.#known.push({
        messages,
        completion,
        calls,
        allIds: [...answered.promptIds, ...ids],
        text: text === null ? null : text + completion,
      })
    return answered
  }

  /** Tokens of a text: of one that goes on from an earlier answer, those that were generated. */
  async #idsOf(text: string): Promise<number[]> {
    const before = this.#known.findLast((known) => known.text !== null && text.startsWith(known.text))
    const rest = text.slice(before?.text?.length ?? 0)
    const more = rest === '' ? [] : ((await this.#ask({ kind: 'encode', text: rest })) as number[])
    return [...(before?.allIds ?? []), ...more]
  }

  /**
   * Tokens of a conversation that goes on from an earlier answer: those that were generated, then what the template writes
   * between two turns. Null where it goes on from none, or the template does not show where a turn ends.
   */
  async #continued(messages: readonly ChatMessage[]): Promise<readonly number[] | null> {
    for (const known of this.#known.toReversed()) {
      const rest = restAfter(known, messages)
      if (rest === null) continue
      try {
        const answer = await this.#ask({ kind: 'reply', ids: known.allIds, message: rest })
        return (answer as { ids: number[] }).ids
      } catch (error) {
        if (error instanceof AppError && error.code === 'api/invalid') return null
        throw error
      }
    }
    return null
  }

  /** Marks a call whose client left before it was answered: nothing is learned from it. */
  drop(call: number): void {
    this.#dropped.push(call)
  }

  /** Ends the session as its agent says. Errors: AppError 'api/refused' while calls are open or after the end. */
  end(given: SessionEnd): void {
    if (this.#end !== null) throw refusal('The session is over: it has one end.')
    if (this.isBusy) throw refusal('A call of this session is not answered yet: end it after the last one.')
    this.#end = 'failure' in given ? given : { ...given, dropped: this.#dropped }
    this.#wake?.()
  }
}

export const isFault = (answer: unknown): answer is { readonly fault: string } =>
  typeof answer === 'object' && answer !== null && 'fault' in answer

/** A request with the run's answer to it. */
export function answeredBy(ask: GenerateAsk, answer: unknown, number: number): Answered {
  const { completions, promptIds = ask.ids ?? [] } = answer as Answer
  return { number, promptIds, completions }
}

/** Returns the trajectories of a session that ended, or its failure. */
export function endStep(end: SessionEnd, generated: readonly Answered[]): EpisodeStep {
  if ('failure' in end) return failed(end.failure)
  const { reward, callRewards, dropped } = end
  const calls = generated
    .filter(({ number }) => !dropped.includes(number))
    .flatMap(({ number, promptIds, completions }) =>
      completions.map(({ ids }): SessionCall => ({ promptIds, ids, reward: callRewards[number] ?? null })),
    )
  const trajectories = sessionTrajectories(calls).map((each) => ({ ...each, reward: own(reward, each) }))
  if (trajectories.length === 0) return failed('The agent ended the session without an answer of the model.')
  const metrics = { 'agent/calls': calls.length, 'agent/trajectories': trajectories.length }
  return { trajectories, columns: {}, metrics }
}

/** Rewards of calls alone are a reward: the run's reward functions are asked where neither is given. */
const own = (
  reward: number | null | ReturnedReward | undefined,
  { turnRewards }: { readonly turnRewards?: unknown },
): number | null | ReturnedReward | undefined =>
  reward === undefined && turnRewards !== undefined ? null : reward

const failed = (message: string): EpisodeStep => ({ failure: { message } })

const isText = (ask: SessionAsk | TextAsk): ask is TextAsk => ask.kind === 'encode' || ask.kind === 'decode'

/** Returns the messages behind a known answer; null where the conversation does not go on from it. */
function restAfter(
  { messages: before, completion, calls }: Known,
  messages: readonly ChatMessage[],
): readonly ChatMessage[] | null {
  if (before === null || !before.every((message, i) => isSame(message, messages[i]))) return null
  const [answer, ...rest] = messages.slice(before.length)
  const isAnswer =
    answer?.role === 'assistant' &&
    answer.content.trim() === completion.trim() &&
    isDeepStrictEqual(callsIn(answer), calls.map(read))
  return isAnswer && rest.length > 0 && rest.every(({ role }) => role !== 'assistant') ? rest : null
}

const isSame = (a: ChatMessage, b: ChatMessage | undefined): boolean =>
  b !== undefined && a.role === b.role && a.content === b.content && isDeepStrictEqual(callsIn(a), callsIn(b))

/** The functions that a message calls, whatever ids the calls have. */
const callsIn = ({ tool_calls: calls }: ChatMessage): unknown[] =>
  Array.isArray(calls) ? calls.map((call: { function: ToolCall }) => read(call.function)) : []

/** Clients may write arguments anew. */
const read = ({ name, arguments: given }: ToolCall) => ({ name, arguments: parsedWithMarks(given) ?? given })

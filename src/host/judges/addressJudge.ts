/** A judge behind an address that speaks OpenAI's API: one request per question, some of them at the same time. */
import { z } from 'zod'
import type { JudgeSettings } from '#shared/config/judge.ts'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { AppError } from '#shared/errors.ts'
import { allowedKey, type KeyPlace } from '#host/consents/keys.ts'
import { type Answer, Connection, messageIn, problemOf } from '#host/remote/connection.ts'
import type { Asked, AskedModel, ModelQuestion } from './judge.ts'
import type { Usage } from './judgeLog.ts'
import type { AnswerToken } from './question.ts'

const described = z.object({ token: z.string(), logprob: z.number() })

const choiceSchema = z.object({
  message: z.object({ content: z.string().nullish() }),
  finish_reason: z.string().nullish(),
  logprobs: z
    .object({ content: z.array(described.extend({ top_logprobs: z.array(described) })).nullish() })
    .nullish(),
})

const completionSchema = z.object({
  choices: z.tuple([choiceSchema], choiceSchema),
  usage: z.object({ prompt_tokens: z.int().min(0), completion_tokens: z.int().min(0) }).nullish(),
})

type ChatCompletion = z.infer<typeof completionSchema>

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })).min(1) })

/** Number of log-probabilities per token; the most that OpenAI's API gives. */
const topLogprobs = 20
/** A completion that the judge cannot read, not a judge that cannot be asked. */
const faultsOfOne: readonly number[] = [400, 413, 422]

export interface AddressJudgeOptions {
  readonly settings: JudgeSettings
  readonly keys: KeyPlace
  /** Called before every request that leaves this machine. */
  readonly onRequest: () => void
  /** Name of the model in errors; “the judge” if absent. */
  readonly who?: string
}

export class AddressJudge implements AskedModel {
  readonly #settings: JudgeSettings
  readonly #connection: Connection
  readonly #server: string
  /** Name of the limit on new tokens: newer models of OpenAI's know one name alone, other servers the other. */
  #limitName: 'max_tokens' | 'max_completion_tokens' = 'max_tokens'
  #model: Promise<string> | null = null
  #hasAnswered = false

  /** Errors: AppError 'key/not-allowed'; 'config/invalid' where the variable of its key is not set. */
  constructor({ settings, keys, onRequest, who = 'judge' }: AddressJudgeOptions) {
    this.#settings = settings
    const url = baseOf(settings.address)
    this.#server = `The ${who} at ${url}`
    const { timeoutSeconds, retries, maxConcurrent } = settings
    this.#connection = new Connection({
      url,
      timeoutSeconds,
      retries,
      maxConcurrent,
      apiKey: allowedKey({ variable: settings.keyVariable, address: url, who }, keys),
      onRequest: () => {
        if (!isOnThisMachine(url)) onRequest()
      },
      words: {
        server: this.#server,
        keyHint: `The setting for the variable of the key names the environment variable that holds it: ${settings.keyVariable || 'none'}.`,
        addressHint:
          'Check that it is running and that its address is right. Its answers so far are kept and are not asked for again.',
        kindHint: notOpenAi,
      },
    })
  }

  async *ask(questions: readonly ModelQuestion[]): AsyncGenerator<readonly Asked[]> {
    const stop = new AbortController()
    const running = new Map<number, Promise<Asked>>()
    const { maxConcurrent } = this.#settings
    try {
      for (let next = 0; next < questions.length || running.size > 0;) {
        for (const question of questions.slice(next, next + maxConcurrent - running.size)) {
          running.set(next, this.#askOne(next, question, stop.signal))
          next++
        }
        const asked = await Promise.race(running.values())
        running.delete(asked.index)
        yield [asked]
      }
    } catch (error) {
      stop.abort()
      // Answers that arrived meanwhile are paid for, so they are kept.
      const settled = await Promise.allSettled(running.values())
      yield settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      throw error
    }
  }

  async #askOne(index: number, question: ModelQuestion, signal: AbortSignal): Promise<Asked> {
    const answer = await this.#complete(question, signal)
    if (answer.status !== 200) {
      if (!this.#hasAnswered || !faultsOfOne.includes(answer.status)) throw this.#failed(answer)
      const problem = `${this.#server} refused the question: ${problemOf(answer)}.`
      return { index, answer: { problem }, usage: { promptTokens: 0, answerTokens: 0 } }
    }
    const completion = completionSchema.safeParse(answer.json).data
    if (completion === undefined)
      throw new AppError(
        'server/failed',
        `${this.#server} sent something other than a chat completion: ${problemOf(answer)}.`,
        notOpenAi,
      )
    this.#hasAnswered = true
    return { index, ...this.#read(completion) }
  }

  async #complete(question: ModelQuestion, signal: AbortSignal): Promise<Answer> {
    const { servedModel, temperature, maxNewTokens, read } = this.#settings
    this.#model ??= servedModel === '' ? this.#firstModel(signal) : Promise.resolve(servedModel)
    const model = await this.#model
    const request = (limitName: string) => ({
      method: 'POST' as const,
      path: '/chat/completions',
      body: {
        model,
        messages: question.messages,
        temperature,
        [limitName]: maxNewTokens,
        ...(temperature > 0 ? { seed: question.seed } : {}),
        ...(read === 'expected' ? { logprobs: true, top_logprobs: topLogprobs } : {}),
      },
    })
    const answer = await this.#connection.ask(request(this.#limitName), { signal })
    if (answer.status !== 400 || !messageIn(answer.json).includes('max_completion_tokens')) return answer
    this.#limitName = 'max_completion_tokens'
    return this.#connection.ask(request(this.#limitName), { signal })
  }

  async #firstModel(signal: AbortSignal): Promise<string> {
    const answer = await this.#connection.ask({ method: 'GET', path: '/models' }, { signal })
    const [first] = modelsSchema.safeParse(answer.json).data?.data ?? []
    if (answer.status === 200 && first !== undefined) return first.id
    throw new AppError(
      'server/unsuitable',
      `${this.#server} lists no models: ${problemOf(answer)}.`,
      'Say what the model is called there (`servedModel`).',
    )
  }

  #read({ choices: [choice], usage }: ChatCompletion): Omit<Asked, 'index'> {
    const { read, budget } = this.#settings
    const { message, finish_reason: end, logprobs } = choice
    const tokens = read === 'expected' ? tokensOf(logprobs?.content) : null
    if (read === 'expected' && tokens === null)
      throw this.#unsuitable('log-probabilities', 'Set `read` to parsed.')
    if (budget > 0 && !usage)
      throw this.#unsuitable('counts of tokens', 'Its cost cannot be counted: set `budget` to 0.')
    return {
      answer: { text: message.content ?? '', tokens, isTruncated: end === 'length' },
      usage: usageOf(usage),
    }
  }

  #unsuitable(what: string, hint: string): AppError {
    return new AppError('server/unsuitable', `${this.#server} returns no ${what}.`, hint)
  }

  #failed(answer: Answer): AppError {
    return new AppError(
      'server/unsuitable',
      `${this.#server} refuses the question: ${problemOf(answer)}.`,
      'Check the address and the name of the model there, and that the model takes its settings.',
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#connection[Symbol.dispose]()
    return Promise.resolve()
  }
}

const usageOf = (usage: ChatCompletion['usage']): Usage => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  answerTokens: usage?.completion_tokens ?? 0,
})

type Logprobs = NonNullable<z.infer<typeof choiceSchema>['logprobs']>

const tokensOf = (content: Logprobs['content']): AnswerToken[] | null =>
  content?.map(({ token, top_logprobs: top }) => ({
    text: token,
    top: () => top.map((each) => ({ text: each.token, logprob: each.logprob })),
  })) ?? null

const notOpenAi = 'Check that the address is that of a server that speaks OpenAI’s API.'

/** Returns the base address as OpenAI's own clients take it: with /v1, which is added to a bare address. */
function baseOf(address: string): string {
  const trimmed = address.replace(/\/+$/, '')
  return new URL(trimmed).pathname === '/' ? `${trimmed}/v1` : trimmed
}

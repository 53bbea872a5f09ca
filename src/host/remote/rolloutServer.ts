/** A client for one rollout server in its dialect: its models, token generation, and loading and unloading adapters. */
import { z } from 'zod'
import { serverUrls } from '#shared/config/addresses.ts'
import { AppError } from '#shared/errors.ts'
import {
  type Answer,
  type AskOptions,
  type Call,
  Connection,
  messageIn,
  problemOf,
  type ServerWords,
} from './connection.ts'
import {
  type Dialect,
  type GeneratedTokens,
  type LaunchFacts,
  type TokenRequest,
  sglang,
  vllm,
} from './dialect.ts'
import type { AllowedKey } from '#host/consents/keys.ts'
import type { ServerSettings } from './settings.ts'

export interface RolloutServerOptions {
  /** One of those in the settings. */
  readonly url: string
  readonly settings: ServerSettings
  readonly apiKey: AllowedKey | null
  /** Called before every request. */
  readonly onRequest: (url: string) => void
  readonly launch: Omit<LaunchFacts, 'host' | 'port'>
}

/** A model that a server lists: the base or an adapter. */
export interface ServedModel {
  readonly id: string
  /** The model an adapter is for; null of a base model. */
  readonly parent: string | null
  /** Longest prompt plus completion; null where it is not said. */
  readonly contextLength: number | null
}

const modelList = z.object({
  data: z.array(
    z.object({ id: z.string(), parent: z.string().nullish(), max_model_len: z.number().nullish() }),
  ),
})

export const listModels: Call = { method: 'GET', path: '/v1/models' }

/** undefined for an answer that is no list of models. */
export function readModels({ status, json }: Answer): readonly ServedModel[] | undefined {
  const list = status === 200 ? modelList.safeParse(json).data : undefined
  return list?.data.map(({ id, parent, max_model_len: length }) => ({
    id,
    parent: parent ?? null,
    contextLength: length ?? null,
  }))
}

/** Finds a model among those served; `wanted`: its name, empty for the first base model. Errors: AppError 'server/unsuitable'. */
export function servedModel(
  models: readonly ServedModel[],
  wanted: string,
  { server, advice }: Readonly<Record<'server' | 'advice', string>>,
): ServedModel {
  const found = models.find(({ id, parent }) => (wanted === '' ? parent === null : id === wanted))
  if (found !== undefined) return found
  const names = models.map(({ id }) => id).join(', ')
  throw new AppError(
    'server/unsuitable',
    `${server} does not serve ${wanted === '' ? 'a base model' : wanted}. It serves ${names || 'nothing'}.`,
    advice,
  )
}

const tokenized = z.object({ tokens: z.array(z.int()) })

export type Tokens = { readonly [K in keyof GeneratedTokens]: NonNullable<GeneratedTokens[K]> }

export class RolloutServer implements Disposable {
  readonly url: string
  readonly dialect: Dialect
  readonly #connection: Connection
  readonly #launch: LaunchFacts
  readonly #retries: number
  /** Name of the base model there; asked from the server where the settings do not say. */
  #model: string

  constructor({ url, settings, apiKey, onRequest, launch }: RolloutServerOptions) {
    this.dialect = dialects[settings.kind]
    const hasOthers = serverUrls(settings).length > 1
    const own = { url, apiKey, hasOthers, onRequest: () => onRequest(url), words: wordsFor(url) }
    this.#connection = new Connection({ ...settings, ...own })
    this.url = this.#connection.url
    this.#retries = settings.retries
    this.#model = settings.model ?? ''
    const { hostname, port, protocol } = new URL(url)
    const defaultPort = protocol === 'https:' ? '443' : '80'
    this.#launch = { ...launch, host: hostname, port: port === '' ? defaultPort : port }
  }

  /** Requests that were made again. */
  get retried(): number {
    return this.#connection.retried
  }

  /** Error that says what is wrong with how the server was started, and how to start it. */
  unsuitable(sentence: string): AppError {
    return new AppError('server/unsuitable', sentence, this.launchHint)
  }

  get launchHint(): string {
    return `Start it with: ${this.dialect.launchCommand(this.#launch)}`
  }

  async models(options?: AskOptions): Promise<readonly ServedModel[]> {
    const answer = await this.#ask(listModels, options)
    const models = readModels(answer)
    if (models === undefined) throw this.#noServer(answer)
    return models
  }

  /** Finds the base model among those served. Errors: AppError 'server/unsuitable'. */
  async chooseModel(): Promise<ServedModel> {
    const models = await this.models({ retries: Math.min(firstRetries, this.#retries) })
    const found = servedModel(models, this.#model, {
      server: `The rollout server at ${this.url}`,
      advice: 'Correct rollout.server.model, or start the server with the base model of the run.',
    })
    this.#model = found.id
    return found
  }

  /** null: it has no such endpoint. */
  async tokenize(text: string): Promise<readonly number[] | null> {
    const answer = await this.#ask(this.dialect.tokenizeCall(text, this.#model), {
      finalStatuses: [500, 501],
    })
    return answer.status === 200 ? (tokenized.safeParse(answer.json).data?.tokens ?? null) : null
  }

  /** 'adapter-missing' where it has to be loaded, perhaps again. Errors: AppError 'server/…'. */
  async generate(request: TokenRequest, signal: AbortSignal): Promise<Tokens | 'adapter-missing'> {
    const answer = await this.#ask(this.dialect.generateCall(request, this.#model), { signal })
    if (answer.status !== 200) {
      if (request.adapter !== null && this.dialect.isAdapterMissing(answer)) return 'adapter-missing'
      throw this.failed('a request for a completion', answer)
    }
    const tokens = this.dialect.readTokens(answer.json)
    if (tokens === undefined) throw this.#noServer(answer)
    return this.#complete(tokens)
  }

  #complete({ ids, logprobs }: GeneratedTokens): Tokens {
    const { title, remedies } = this.dialect
    if (ids === null) {
      throw this.unsuitable(`The rollout server (${title}) returns no token ids: ${remedies.ids}.`)
    }
    if (logprobs === null) {
      throw this.unsuitable(
        `The rollout server (${title}) returns no log-probabilities: ${remedies.logprobs}.`,
      )
    }
    if (ids.length === logprobs.length) return { ids, logprobs }
    throw new AppError(
      'server/failed',
      `The rollout server returned ${ids.length} tokens with ${logprobs.length} log-probabilities.`,
      'This is a fault of its version; another one may work.',
    )
  }

  /** Errors: AppError 'server/unsuitable' where it was not started to take adapters, 'server/failed'. */
  async load(name: string, folder: string): Promise<void> {
    // A fault of the adapter is a 500 too: asking again would not help.
    const answer = await this.#ask(this.dialect.loadCall(name, folder), { finalStatuses: [500] })
    // No other process uses the name: an attempt whose answer was lost had loaded it.
    if (answer.status === 200 || /already (?:been )?(?:loaded|exists)/i.test(answer.text)) return
    throw this.#notLoaded(answer, folder)
  }

  #notLoaded(answer: Answer, folder: string): AppError {
    const { title, remedies } = this.dialect
    const where = `The rollout server (${title}) accepts no adapters`
    if (this.dialect.isLoadingOff(answer)) return this.unsuitable(`${where}: ${remedies.runtimeAdapters}.`)
    if (/not enabled|enable[-_]lora/i.test(answer.text)) {
      return this.unsuitable(`${where}: ${remedies.adapters}.`)
    }
    if (/rank/i.test(answer.text)) {
      return this.unsuitable(
        `The rollout server (${title}) accepts only adapters of lower rank: ${problemOf(answer)}.`,
      )
    }
    return new AppError(
      'server/failed',
      `The rollout server did not load the adapter in ${folder}: ${problemOf(answer)}.`,
      'It must be able to read that folder: rollout.server.serverAdapterFolder is the server’s path to rollout.server.adapterFolder.',
    )
  }

  /** False where it could not be done now. A server that does not hold the adapter has unloaded it. */
  async unload(name: string): Promise<boolean> {
    const call = this.dialect.unloadCall(name)
    const asked = this.#ask(call, { retries: 0, finalStatuses: [500], timeoutSeconds: unloadSeconds })
    const answer = await asked.catch((error: unknown) => {
      if (error instanceof AppError) return null
      throw error
    })
    return answer !== null && (answer.status === 200 || isUnknown(answer))
  }

  failed(what: string, answer: Answer): AppError {
    return new AppError(
      'server/failed',
      `The rollout server refused ${what}: ${problemOf(answer)}.`,
      this.launchHint,
    )
  }

  #noServer(answer: Answer): AppError {
    const { title } = this.dialect
    return new AppError(
      'server/unsuitable',
      `The server at ${this.url} does not behave like ${title}: ${problemOf(answer)}.`,
      `See rollout.server.kind and rollout.server.url. ${this.launchHint}`,
    )
  }

  #ask(call: Call, options?: AskOptions): Promise<Answer> {
    return this.#connection.ask(call, options)
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }
}

/** Number of retries of the first request: a wrong address should be reported at once. */
const firstRetries = 4
/** Time limit for unloading; nothing waits for it to succeed. */
const unloadSeconds = 30

const isUnknown = ({ status, json }: Answer): boolean =>
  (status === 404 || status === 400) && /cannot be found|does not exist|not loaded/i.test(messageIn(json))

/* The servers that are spoken with. */

export const dialects: Readonly<Record<ServerSettings['kind'], Dialect>> = { vllm, sglang }

const wordsFor = (url: string): ServerWords => ({
  server: `The rollout server at ${url.replace(/\/+$/, '')}`,
  keyHint:
    'rollout.server.apiKeyVariable names the environment variable that holds the key the server was started with.',
  addressHint:
    'Check that it is running and that rollout.server.url is its address. A run that has begun can then be resumed from its last checkpoint.',
  kindHint: 'Check that rollout.server.url is the address of a vLLM or SGLang server.',
})

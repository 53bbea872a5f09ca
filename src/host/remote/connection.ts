/**
 * JSON requests to a server of models, with limits on time and size. Failures that may be temporary are retried at growing
 * intervals: a server that is unreachable (it may be restarting) or too busy, or a broken connection.
 */
import { once } from 'node:events'
import type { Agent as HttpAgent, IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { type AllowedKey, hidingStrings, keyHider } from '#host/consents/keys.ts'
import { connectSeconds } from '#host/processes/limits.ts'
import { shorten } from '#shared/plural.ts'

export interface Call {
  readonly method: 'GET' | 'POST'
  /** Path below the server's address, such as /v1/models. */
  readonly path: string
  readonly body?: object
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** Parsed text; undefined where it is not JSON. */
  readonly json: unknown
}

export interface AskOptions {
  readonly signal?: AbortSignal
  /** Statuses that are an answer here, though a busy server gives them too. */
  readonly finalStatuses?: readonly number[]
  /** Instead of the connection's. */
  readonly retries?: number
  readonly timeoutSeconds?: number
}

export interface ConnectionOptions {
  readonly url: string
  readonly apiKey: AllowedKey | null
  readonly timeoutSeconds: number
  readonly retries: number
  /** Others can answer in its place: without any answer, it is given up after one more attempt. */
  readonly hasOthers?: boolean
  readonly maxConcurrent: number
  /** Called before every request. */
  readonly onRequest: () => void
  readonly words: ServerWords
}

/** Words for the server in errors, and advice on what to do. */
export interface ServerWords {
  /** Name such as “The rollout server at ADDRESS”. */
  readonly server: string
  /** Advice when it refuses the key. */
  readonly keyHint: string
  /** Advice when it does not answer. */
  readonly addressHint: string
  /** Advice when its answer is not one of such a server. */
  readonly kindHint: string
}

/** Limit of an answer's size: an answer is some numbers per token, and nothing larger is one. */
const maxAnswerBytes = 256 * 1024 * 1024
const firstWaitMs = 250
const longestWaitMs = 30_000

/** An import of `node:http` takes ten times as long: it loads Node's WebSocket too. */
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

export class Connection implements Disposable {
  readonly url: string
  /** Requests that were made again, since the connection was made. */
  retried = 0
  readonly #options: ConnectionOptions
  readonly #agent: HttpAgent
  readonly #isSecure: boolean
  readonly #hide: (text: string) => string
  /** Time of the server's last message, to whichever request. */
  #heardAt = 0

  constructor(options: ConnectionOptions) {
    this.url = options.url.replace(/\/+$/, '')
    this.#options = options
    this.#hide = keyHider(options.apiKey)
    const pool = { keepAlive: true, maxSockets: options.maxConcurrent + 2 }
    this.#isSecure = new URL(this.url).protocol === 'https:'
    this.#agent = this.#isSecure ? new https.Agent(pool) : new http.Agent(pool)
  }

  /**
   * The first answer that is one, of whatever status. Errors: AppError 'server/unreachable' when there was none in all
   * attempts, 'server/unsuitable' when the key is refused; the signal's reason when it says so.
   */
  async ask(call: Call, options: AskOptions = {}): Promise<Answer> {
    const retries = options.retries ?? this.#options.retries
    for (let attempt = 0; ; attempt++) {
      const tried = await this.#attempt(call, options)
      if ('answer' in tried && isFinal(tried.answer, options)) return this.#admitted(tried.answer)
      if (attempt >= Math.min(retries, this.#retriesAfter(tried))) throw this.#unreachable(tried)
      await wait(waitBefore(attempt, tried), undefined, { signal: options.signal }).catch(() => undefined)
      options.signal?.throwIfAborted()
      this.retried++
    }
  }

  /** A broken connection may be an idle one that was closed; who is silent for the whole time will be again. */
  #retriesAfter(tried: Tried): number {
    if ('answer' in tried || this.#options.hasOthers !== true) return Infinity
    return tried.isTimeout ? 0 : 1
  }

  async #attempt(call: Call, { signal, timeoutSeconds }: AskOptions): Promise<Tried> {
    using patience = new Patience(timeoutSeconds ?? this.#options.timeoutSeconds, () => this.#heardAt)
    const both = signal === undefined ? patience.signal : AbortSignal.any([signal, patience.signal])
    try {
      return await this.#send(call, both, patience)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof AppError) throw error
      const isTimeout = patience.signal.aborted
      return { failure: isTimeout ? patience.words : reasonOf(error), isTimeout }
    }
  }

  async #send({ method, path, body }: Call, signal: AbortSignal, patience: Patience): Promise<Tried> {
    signal.throwIfAborted()
    this.#options.onRequest()
    const { apiKey } = this.#options
    const content = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      'content-length': Buffer.byteLength(content),
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    }
    const make = this.#isSecure ? https.request : http.request
    const outgoing = make(`${this.url}${path}`, { method, headers, agent: this.#agent, signal })
    outgoing.once('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => patience.connected())
      else patience.connected()
    })
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
    // The promise tells of errors before the answer, the answer itself of later ones.
    outgoing.on('error', () => undefined)
    outgoing.end(content)
    const [incoming] = await answered
    const text = await readText(incoming, this.#options.words, () => (this.#heardAt = performance.now()))
    const shown = this.#hide(text)
    const answer = { status: incoming.statusCode ?? 0, text: shown, json: parsed(shown, this.#hide) }
    return { answer, retryAfter: Number(incoming.headers['retry-after'] ?? NaN) }
  }

  #admitted(answer: Answer): Answer {
    if (answer.status !== 401 && answer.status !== 403) return answer
    const { server, keyHint } = this.#options.words
    throw new AppError('server/unsuitable', `${server} does not accept the key.`, keyHint)
  }

  #unreachable(tried: Tried): AppError {
    const reason = 'answer' in tried ? problemOf(tried.answer) : tried.failure
    const { server, addressHint } = this.#options.words
    return new AppError('server/unreachable', `${server} does not answer: ${reason}.`, addressHint)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

/**
 * Waiting time of a request: first to reach the server, then while the server is silent. A server that still answers
 * other requests is alive, and only late.
 */
class Patience implements Disposable {
  readonly #seconds: number
  readonly #heardAt: () => number
  readonly #over = new AbortController()
  #isConnected = false
  #since = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(seconds: number, heardAt: () => number) {
    this.#seconds = seconds
    this.#heardAt = heardAt
    this.#wait()
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Reason for giving up. */
  get words(): string {
    return `no ${this.#isConnected ? 'answer' : 'connection'} within ${this.#limitSeconds} seconds`
  }

  get #limitSeconds(): number {
    return this.#isConnected ? this.#seconds : Math.min(this.#seconds, connectSeconds)
  }

  connected(): void {
    this.#isConnected = true
    this.#since = performance.now()
    this.#wait()
  }

  #leftMs(): number {
    const since = this.#isConnected ? Math.max(this.#since, this.#heardAt()) : this.#since
    return since + 1000 * this.#limitSeconds - performance.now()
  }

  /** Waits. What came while this process was busy is read before the request is given up. */
  #wait(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), Math.ceil(this.#leftMs()))
  }

  #look(): void {
    if (this.#leftMs() > 0) this.#wait()
    else this.#over.abort()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}

type Tried =
  | { readonly answer: Answer; readonly retryAfter: number }
  | { readonly failure: string; readonly isTimeout: boolean }

const isFinal = ({ status }: Answer, { finalStatuses = [] }: AskOptions): boolean =>
  (status < 500 && status !== 429 && status !== 408) || finalStatuses.includes(status)

/** Milliseconds; as the server asks, if it does. */
function waitBefore(attempt: number, tried: Tried): number {
  const requested = 'answer' in tried && tried.retryAfter > 0 ? 1000 * tried.retryAfter : 0
  return Math.min(longestWaitMs, Math.max(requested, firstWaitMs * 2 ** attempt))
}

async function readText(
  incoming: IncomingMessage,
  { server, kindHint }: ServerWords,
  onHeard: () => void,
): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  onHeard()
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    onHeard()
    size += chunk.length
    if (size > maxAnswerBytes) {
      incoming.destroy()
      throw new AppError('server/failed', `${server} sent an answer that is too large.`, kindHint)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** undefined: it is no JSON. */
const parsed = (text: string, hide: (text: string) => string): unknown =>
  attempt(() => {
    const hasEscapes = /\\[u/]/.test(text)
    return JSON.parse(text, hasEscapes ? hidingStrings(hide) : undefined) as unknown
  }, undefined)

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  // Several addresses of one name fail together, with an empty message.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return first instanceof Error ? first.message : error.message
}

/** Summarizes an answer that is no success, in a few words. */
export function problemOf({ status, text, json }: Answer): string {
  const words = messageIn(json) || text.trim()
  return words === '' ? `status ${status}` : `status ${status}, “${shorten(words)}”`
}

/** vLLM: {error: {message}} or {message}; SGLang: {error_message}; FastAPI: {detail}. */
export function messageIn(json: unknown): string {
  if (typeof json !== 'object' || json === null) return ''
  const { error, message, error_message: own, detail } = json as Readonly<Record<string, unknown>>
  const inner = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  const found = [inner, message, own, detail].find((words) => typeof words === 'string' && words !== '')
  return typeof found === 'string' ? found : ''
}

/** The API of OpenAI for other programs on this machine, over a model that is kept open; every request needs the key. */
import { randomInt, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import type { ServedModel } from './servedProcess.ts'
import { bearerToken, isLoopbackHost, isOwnOrigin, isToken, PendingClients } from '#host/transports/access.ts'
import { lingerMs, startLoopbackServer, type LoopbackServer } from '#host/transports/loopbackServer.ts'
import { OpenAiAnswer } from './openaiAnswers.ts'
import { InvalidRequest, parseRequest, type Endpoint, type OpenAiRequest } from './openaiRequests.ts'
import type { ServedName, ServedNames } from './servedNames.ts'

export interface OpenAiServerOptions {
  /** 0: any free one. */
  readonly port: number
  readonly key: string
  readonly model: Pick<ServedModel, 'complete'>
  readonly names: Pick<ServedNames, 'list' | 'find'>
  /** Called when a request was answered, with the number of tokens generated. */
  readonly onAnswered: (tokens: number) => void
  readonly onFault?: (name: string, error: unknown) => void
}

const maxBodyBytes = 2 * 1024 * 1024
/** Completions that are generated or wait for it, of all clients together. */
const maxOpenCompletions = 1024

const endpointsByPath: ReadonlyMap<string, Endpoint> = new Map([
  ['/v1/chat/completions', 'chat'],
  ['/v1/completions', 'completions'],
])
const modelsPath = '/v1/models'

/** Errors: those of `startLoopbackServer`. */
export async function startOpenAiServer(options: OpenAiServerOptions): Promise<LoopbackServer> {
  const { port, onFault } = options
  const front = new Front(options)
  return startLoopbackServer({
    port,
    pendingClients: front.pendingClients,
    answer: (request, response) => front.answer({ request, response }),
    ...(onFault === undefined ? {} : { onFault }),
  })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Reason why a request is not answered. */
interface Refusal {
  readonly status: number
  readonly message: string
  readonly code?: string
  readonly param?: string | null
}

class Front {
  readonly pendingClients = new PendingClients()
  readonly #options: OpenAiServerOptions
  #openCompletions = 0

  constructor(options: OpenAiServerOptions) {
    this.#options = options
  }

  async answer(exchange: Exchange): Promise<void> {
    const { request } = exchange
    const refusal = this.#refusal(request)
    if (refusal !== null) {
      refuse(exchange, refusal)
      return
    }
    this.pendingClients.trust(request.socket)
    try {
      await this.#route(exchange)
    } catch (error) {
      // The client left before it had sent its request.
      if (request.destroyed && !request.complete) return
      this.#fail(exchange, error)
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { request, response } = exchange
    const told = refusalOf(error)
    if (!(error instanceof AppError || error instanceof Refused))
      this.#options.onFault?.(`${request.method ?? ''} ${request.url ?? ''}`, error)
    if (!response.headersSent) refuse(exchange, told)
    else if (!response.destroyed) response.end(event(errorBody(told)))
  }

  #refusal({ headers }: IncomingMessage): Refusal | null {
    if (!isLoopbackHost(headers.host)) {
      return { status: 421, message: 'The server answers only requests for this machine’s name.' }
    }
    if (!isOwnOrigin(headers.origin, headers.host)) {
      return { status: 403, message: 'The server does not answer requests of web pages.' }
    }
    if (isToken(bearerToken(headers.authorization), this.#options.key)) return null
    const message = 'The key is missing or wrong: send the one that the server shows, as a bearer token.'
    return { status: 401, message, code: 'invalid_api_key' }
  }

  async #route(exchange: Exchange): Promise<void> {
    const { method = '', url = '' } = exchange.request
    const [target = ''] = url.split('?')
    const endpoint = endpointsByPath.get(target)
    const isModels = target === modelsPath || target.startsWith(`${modelsPath}/`)
    if (endpoint === undefined && !isModels) throw new Refused({ status: 404, message: nothingHere })
    if (method !== (isModels ? 'GET' : 'POST')) {
      throw new Refused({ status: 405, message: `${method} cannot be used at ${target}.` })
    }
    if (endpoint !== undefined) await this.#complete(endpoint, exchange)
    else sendJson(exchange, this.#models(target.slice(modelsPath.length + 1)))
  }

  /** `given`: one of them as a URL writes it; empty: all. */
  #models(given: string): object {
    const { names } = this.#options
    if (given !== '') return modelObject(names.find(decoded(given)))
    return { object: 'list', data: names.list().map(modelObject) }
  }

  async #complete(endpoint: Endpoint, exchange: Exchange): Promise<void> {
    const request = parseRequest(endpoint, await readBody(exchange.request))
    const { adapter } = this.#options.names.find(request.model)
    const completions = request.prompts.length * request.samples
    if (this.#openCompletions + completions > maxOpenCompletions) {
      exchange.response.setHeader('retry-after', '1')
      throw new Refused({
        status: 429,
        message: 'Too many completions are waiting. Try again later.',
        code: 'rate_limit_exceeded',
      })
    }
    this.#openCompletions += completions
    try {
      await this.#generate(request, adapter, exchange)
    } finally {
      this.#openCompletions -= completions
    }
  }

  async #generate(
    request: OpenAiRequest,
    adapter: string | null,
    { request: asked, response }: Exchange,
  ): Promise<void> {
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    // However long it takes: it ends with its connection.
    asked.socket.setTimeout(0)
    const id = `${request.endpoint === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`
    const head = { id, created: Math.floor(Date.now() / 1000), model: request.model }
    const answer = new OpenAiAnswer(request, head)
    const news = this.#options.model.complete(servedRequest(request, adapter), leaving.signal)
    for await (const item of news) {
      const events = answer.add(item)
      if (request.isStreamed && !response.headersSent) response.writeHead(200, streamHeaders)
      if (events.length > 0) response.write(events.map(event).join(''))
    }
    if (leaving.signal.aborted) return
    this.#options.onAnswered(answer.generatedTokens)
    if (request.isStreamed) response.end(`${answer.closing().map(event).join('')}data: [DONE]\n\n`)
    else sendJson({ request: asked, response }, answer.whole())
  }
}

const nothingHere =
  'There is nothing at this address: use /v1/chat/completions, /v1/completions or /v1/models.'

/** Seeds are whole numbers that a client can send again. */
const servedRequest = (request: OpenAiRequest, adapter: string | null) => ({
  ...{ adapter, prompts: request.prompts, samples: request.samples, sampling: request.sampling },
  ...{ isStreamed: request.isStreamed, withTokens: request.withLogprobs || request.withTokenIds },
  seed: request.seed ?? randomInt(2 ** 47),
})

const modelObject = ({ name, createdAt }: ServedName) => ({
  id: name,
  object: 'model',
  created: Math.floor(createdAt / 1000),
  owned_by: 'turnwise',
})

function decoded(given: string): string {
  try {
    return decodeURIComponent(given)
  } catch {
    return given
  }
}

class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  'api/invalid': 400,
  'data/invalid': 400,
  'tokenizer/invalid': 400,
  'config/invalid': 400,
  'adapter/invalid': 400,
  'file/unreadable': 404,
  'model/invalid': 404,
  'runtime/out-of-memory': 503,
  'device/out-of-memory': 503,
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal
  if (!(error instanceof AppError)) return { status: 500, message: 'The server failed.' }
  const status = statuses[error.code] ?? 500
  const param = error instanceof InvalidRequest ? error.param : null
  return { status, message: error.message, param, ...(status === 404 ? { code: 'model_not_found' } : {}) }
}

const errorBody = ({
  status,
  message,
  code = null,
  param = null,
}: Omit<Refusal, 'code'> & { readonly code?: string | null }) => ({
  error: { message, type: errorType(status), param, code },
})

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes)
      throw new Refused({ status: 413, message: `The body is larger than ${maxBodyBytes} bytes.` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

function sendJson({ response }: Exchange, body: object, status = 200): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(JSON.stringify(body))
}

function refuse(exchange: Exchange, refusal: Refusal): void {
  const { request, response } = exchange
  response.setHeader('connection', 'close')
  sendJson(exchange, errorBody(refusal), refusal.status)
  if (!request.complete) setTimeout(() => request.destroy(), lingerMs).unref()
}

/** The API of OpenAI for other programs on this machine, over a model that is kept open; every request needs the key. */
import { randomInt, randomUUID } from 'node:crypto'
import type { ServedModel } from './servedProcess.ts'
import type { LoopbackServer } from '#host/transports/loopbackServer.ts'
import { OpenAiAnswer } from './openaiAnswers.ts'
import {
  event,
  type Exchange,
  readBody,
  Refused,
  sendJson,
  startKeyedServer,
  streamHeaders,
} from './openaiHttp.ts'
import { parseRequest, type Endpoint, type OpenAiRequest } from './openaiRequests.ts'
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

/** Completions that are generated or wait for it, of all clients together. */
const maxOpenCompletions = 1024

const endpointsByPath: ReadonlyMap<string, Endpoint> = new Map([
  ['/v1/chat/completions', 'chat'],
  ['/v1/completions', 'completions'],
])
const modelsPath = '/v1/models'

/** Errors: those of `startLoopbackServer`. */
export function startOpenAiServer(options: OpenAiServerOptions): Promise<LoopbackServer> {
  const { port, key, onFault } = options
  const front = new Front(options)
  return startKeyedServer({ port, key, onFault, route: (exchange) => front.route(exchange) })
}

class Front {
  readonly #options: OpenAiServerOptions
  #openCompletions = 0

  constructor(options: OpenAiServerOptions) {
    this.#options = options
  }

  async route(exchange: Exchange): Promise<void> {
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
  adapter,
  prompts: request.prompts,
  samples: request.samples,
  sampling: request.sampling,
  isStreamed: request.isStreamed,
  withTokens: request.withLogprobs || request.withTokenIds,
  promptLogprobs: request.promptLogprobs,
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

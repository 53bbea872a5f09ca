/** HTTP of servers that speak OpenAI's API: who is let in, bodies, errors and events in its form. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import { bearerToken, isLoopbackHost, isOwnOrigin, isToken, PendingClients } from '#host/transports/access.ts'
import { lingerMs, startLoopbackServer, type LoopbackServer } from '#host/transports/loopbackServer.ts'
import { InvalidRequest } from './openaiRequests.ts'

const maxBodyBytes = 2 * 1024 * 1024

export interface Exchange {
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

export interface KeyedServerOptions {
  /** 0: any free one. */
  readonly port: number
  readonly key: string
  /** Answers a request that has shown the key; what it throws is answered in OpenAI's form. */
  readonly route: (exchange: Exchange) => Promise<void>
  readonly onFault?: ((name: string, error: unknown) => void) | undefined
}

/** Starts a server that answers programs of this machine which have its key. Errors: those of `startLoopbackServer`. */
export async function startKeyedServer(options: KeyedServerOptions): Promise<LoopbackServer> {
  const { port, key, route, onFault } = options
  const pendingClients = new PendingClients()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange = { request, response }
    const refusal = refusalBefore(request, key)
    if (refusal !== null) {
      refuse(exchange, refusal)
      return
    }
    pendingClients.trust(request.socket)
    try {
      await route(exchange)
    } catch (error) {
      // The client left before it had sent its request.
      if (request.destroyed && !request.complete) return
      fail(exchange, error, onFault)
    }
  }
  return startLoopbackServer({ port, pendingClients, answer, ...(onFault === undefined ? {} : { onFault }) })
}

function fail({ request, response }: Exchange, error: unknown, onFault: KeyedServerOptions['onFault']): void {
  const told = refusalOf(error)
  if (!(error instanceof AppError || error instanceof Refused))
    onFault?.(`${request.method ?? ''} ${request.url ?? ''}`, error)
  if (!response.headersSent) refuse({ request, response }, told)
  else if (!response.destroyed) response.end(event(errorBody(told)))
}

function refusalBefore({ headers }: IncomingMessage, key: string): Refusal | null {
  if (!isLoopbackHost(headers.host)) {
    return { status: 421, message: 'The server answers only requests for this machine’s name.' }
  }
  if (!isOwnOrigin(headers.origin, headers.host)) {
    return { status: 403, message: 'The server does not answer requests of web pages.' }
  }
  if (isToken(bearerToken(headers.authorization), key)) return null
  const message = 'The key is missing or wrong: send the one that the server shows, as a bearer token.'
  return { status: 401, message, code: 'invalid_api_key' }
}

export class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  'api/invalid': 400,
  'api/refused': 409,
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

export async function readBody(request: IncomingMessage): Promise<Uint8Array> {
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

export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

export function sendJson({ response }: Exchange, body: object, status = 200): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text), // or it would be sent in chunks
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}

function refuse(exchange: Exchange, refusal: Refusal): void {
  const { request, response } = exchange
  response.setHeader('connection', 'close')
  sendJson(exchange, errorBody(refusal), refusal.status)
  if (!request.complete) setTimeout(() => request.destroy(), lingerMs).unref()
}

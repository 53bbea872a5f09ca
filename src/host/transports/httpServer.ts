/**
 * The host without a window: its API over WebSockets and the window's files over HTTP, for browsers on this machine.
 *
 * Reading guide: `loopbackServer.ts` listens, `access.ts` says who may, `staticFiles.ts` what is served and under which rules, `uploads.ts` takes
 * files, `webSocket.ts` makes a connection a port. This file puts them behind one listener on the loopback
 * interface. Every request must name this machine as its host and, if a browser sent it, come from our own page;
 * all but the window's files (which hold no secret) needs the token.
 */
import { createReadStream, existsSync } from 'node:fs'
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { type Port, maxRequestLength } from '#shared/api/protocol.ts'
import {
  apiPath,
  sessionPath,
  tokenProtocol,
  uploadsPath,
  webSocketProtocol,
  type HostAddress,
} from '#shared/api/webSocketPort.ts'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import { bearerToken, createToken, isLoopbackHost, isOwnOrigin, isToken, PendingClients } from './access.ts'
import { lingerMs, refuseSocket, startLoopbackServer } from './loopbackServer.ts'
import {
  contentSecurityPolicy,
  createNonce,
  findStaticFile,
  placeholderPage,
  readPage,
  securityHeaders,
  type StaticFile,
} from './staticFiles.ts'
import { receiveUpload } from './uploads.ts'
import { watchLiveness, webSocketPort } from './webSocket.ts'

export interface HttpServerOptions {
  /** 0: any free one. */
  readonly port: number
  /** The built window; may be missing. */
  readonly staticDirectory: string
  readonly uploadsDirectory: string
  /** Serves a new connection. */
  readonly connect: (port: Port) => void
  /** Called with errors that are no AppError; the client's connection just ends. */
  readonly onFault?: (name: string, error: unknown) => void
  /** Largest upload; by default whatever the disk holds. */
  readonly uploadLimitBytes?: number
  /** Interval between pings to a client. */
  readonly pingIntervalMs?: number
}

export interface HttpServer extends AsyncDisposable, HostAddress {
  /** Opens the window; the token is in the fragment, which no browser sends anywhere. */
  readonly url: string
}

/** Routes for holders of the token alone, with the methods that are understood. */
const tokenRoutes: ReadonlyMap<string, readonly string[]> = new Map([
  [sessionPath, ['GET']],
  [uploadsPath, ['PUT']],
])

const maxWebSockets = 32
const maxUploadsAtOnce = 4

/** Errors: AppError 'usage/invalid' when the port is taken or may not be used. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const front = new Front(options, createToken())
  const server = await startLoopbackServer({
    port: options.port,
    pendingClients: front.pendingClients,
    answer: (request, response) => front.answer({ request, response }),
    upgrade: (request, socket, head) => front.upgrade(request, socket, head),
    ...(options.onFault === undefined ? {} : { onFault: options.onFault }),
  })
  return {
    origin: server.origin,
    token: front.token,
    url: `${server.origin}/#token=${front.token}`,
    [Symbol.asyncDispose]: async () => {
      front.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

class Front {
  readonly token: string
  readonly pendingClients = new PendingClients()
  readonly #options: HttpServerOptions
  readonly #sockets: WebSocketServer
  #uploads = 0

  constructor(options: HttpServerOptions, token: string) {
    this.token = token
    this.#options = options
    this.#sockets = new WebSocketServer({
      noServer: true,
      // A character takes up to three bytes; the exact limit is checked where messages are read.
      maxPayload: 3 * maxRequestLength,
      // Compressed messages could unfold to any size.
      perMessageDeflate: false,
      handleProtocols: () => webSocketProtocol,
    })
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }

  async answer(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const { path, query } = splitTarget(request.url)
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    const refusal = this.#refusal(request, path) ?? (path === sessionPath ? this.#noRoom(query) : null)
    if (refusal !== null) refuse(exchange, refusal)
    else if (path === sessionPath) response.writeHead(204, { 'cache-control': 'no-store' }).end()
    else if (path === uploadsPath) await this.#upload(exchange, query)
    else this.#static(path, exchange)
  }

  /** The status that says why a request is not answered; null: it is. */
  #refusal(request: IncomingMessage, path: string): number | null {
    const { host, origin, authorization } = request.headers
    if (!isLoopbackHost(host)) return 421
    if (!isOwnOrigin(origin, host)) return 401
    const methods = tokenRoutes.get(path)
    if (methods !== undefined) {
      if (!isToken(bearerToken(authorization), this.token)) return 401
      this.pendingClients.trust(request.socket)
    }
    return (methods ?? ['GET', 'HEAD']).includes(request.method ?? '') ? null : 405
  }

  /** Returns the status with which a WebSocket with a valid token is refused; null where it is accepted. */
  #noRoom(query: URLSearchParams): number | null {
    if ((query.get('protocol') ?? webSocketProtocol) !== webSocketProtocol) return 400
    return this.#sockets.clients.size >= maxWebSockets ? 503 : null
  }

  #static(path: string, exchange: Exchange): void {
    const { staticDirectory } = this.#options
    const nonce = createNonce()
    const sockets = [`ws://${exchange.request.headers.host ?? ''}`]
    exchange.response.setHeader('content-security-policy', contentSecurityPolicy(nonce, sockets))
    const found = findStaticFile(staticDirectory, path)
    if (found?.contentType.startsWith('text/html') === true) sendPage(readPage(found, nonce), exchange)
    else if (found !== null) sendFile(found, exchange)
    else if (path === '/' && !existsSync(staticDirectory)) sendPage(placeholderPage, exchange)
    else refuse(exchange, 404)
  }

  async #upload(exchange: Exchange, query: URLSearchParams): Promise<void> {
    const { request, response } = exchange
    if (this.#uploads >= maxUploadsAtOnce) {
      refuse(exchange, 429)
      return
    }
    const length = request.headers['content-length']
    this.#uploads++
    try {
      const upload = await receiveUpload(
        {
          directory: this.#options.uploadsDirectory,
          name: query.get('name') ?? '',
          into: query.get('into'),
          sizeBytes: length === undefined ? null : Number(length),
          limitBytes: this.#options.uploadLimitBytes ?? Infinity,
        },
        // Left whole when the file is refused half-way, so that the answer still finds its way.
        request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
      )
      response.writeHead(201, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      response.end(JSON.stringify(upload))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      refuse(exchange, uploadStatus[error.code] ?? 507, error)
    } finally {
      this.#uploads--
    }
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const refusal = this.#upgradeRefusal(request)
    if (refusal !== null) {
      refuseSocket(socket, refusal)
      return
    }
    this.pendingClients.trust(request.socket)
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket))
  }

  #upgradeRefusal({ headers, url }: IncomingMessage): number | null {
    const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim())
    const given = protocols.find((each) => each.startsWith(tokenProtocol('')))
    if (!isLoopbackHost(headers.host)) return 421
    if (!isOwnOrigin(headers.origin, headers.host)) return 401
    if (!isToken(given, tokenProtocol(this.token))) return 401
    if (splitTarget(url).path !== apiPath) return 404
    if (!protocols.includes(webSocketProtocol)) return 400
    return this.#sockets.clients.size >= maxWebSockets ? 503 : null
  }

  #accept(socket: WebSocket): void {
    watchLiveness(socket, this.#options.pingIntervalMs ?? 30_000)
    this.#options.connect(webSocketPort(socket))
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Splits the target by hand: a parser would tidy up the very paths that are to be refused. */
function splitTarget(target = ''): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = target.split('?')
  return { path, query: new URLSearchParams(query.join('?')) }
}

function sendPage(page: string, { request, response }: Exchange): void {
  const bytes = Buffer.from(page, 'utf8')
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': bytes.byteLength,
    'cache-control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

function sendFile(
  { file, contentType, sizeBytes, isImmutable }: StaticFile,
  { request, response }: Exchange,
): void {
  response.writeHead(200, {
    'content-type': contentType,
    'content-length': sizeBytes,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  const content = createReadStream(file)
  content.on('error', () => response.destroy())
  response.on('close', () => content.destroy())
  content.pipe(response)
}

const uploadStatus: Readonly<Partial<Record<ErrorCode, number>>> = {
  'api/invalid': 400,
  'file/unreadable': 404,
  'api/refused': 413,
}

/** Texts for people about a refusal: what happened, and what to do. */
const reasons: Readonly<Record<number, { readonly message: string; readonly hint?: string }>> = {
  400: {
    message: 'This window and the host have different versions.',
    hint: 'Reload the page. Runs continue and nothing is lost.',
  },
  401: {
    message: 'This window needs its key: open the address that the terminal printed.',
    hint: 'The host makes a new key every time it starts. Runs continue and nothing is lost.',
  },
  404: { message: 'There is nothing at this address.' },
  405: { message: 'That cannot be done at this address.' },
  421: {
    message: 'The host only answers requests for this machine’s name.',
    hint: 'Open the address that the terminal printed.',
  },
  429: {
    message: 'Several files are already being uploaded.',
    hint: 'Wait for one of them to end and try again.',
  },
  503: {
    message: 'The host has reached its limit of connections.',
    hint: `The limit is ${maxWebSockets}: close another window of Turnwise.`,
  },
}

function refuse({ request, response }: Exchange, status: number, error?: AppError): void {
  const { message, hint = null } = error ?? reasons[status] ?? { message: STATUS_CODES[status] }
  const body = JSON.stringify({ message, hint })
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(body)
  if (!request.complete) setTimeout(() => request.destroy(), lingerMs).unref()
}

/** An HTTP server that only programs on this machine can reach. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { usageError } from '#shared/errors.ts'
import { systemCode } from '#host/files/fileErrors.ts'
import type { PendingClients } from './access.ts'

export interface LoopbackServerOptions {
  /** 0: any free one. */
  readonly port: number
  readonly pendingClients: PendingClients
  /** A rejection ends the connection. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /** Handles an upgrade; without it an upgrade is a request like any other. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Time until a client must have sent its headers, ms; by default a minute. */
  readonly headersMs?: number
  /** Called with errors of `answer`; the client's connection just ends. */
  readonly onFault?: (name: string, error: unknown) => void
}

export interface LoopbackServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Number of open connections. */
  readonly connections: number
}

/** An import of `node:http` takes ten times as long: it loads Node's WebSocket too. */
const http = process.getBuiltinModule('node:http')

const loopback = '127.0.0.1'
/** Number of looks at the open connections within that time. */
const looks = 30

/** Time that a refused sender may go on before it is cut off; cut off at once, it could not read why. */
export const lingerMs = 1000

/** Errors: AppError 'usage/invalid' when the port is taken or may not be used. */
export async function startLoopbackServer(options: LoopbackServerOptions): Promise<LoopbackServer> {
  const { headersMs = 60_000 } = options
  const server = http.createServer({
    headersTimeout: headersMs,
    requestTimeout: 0,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: headersMs / looks,
  })
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    options.pendingClients.add(socket)
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // One that was on its way when the server closed would keep it waiting for ever.
    if (!server.listening) socket.destroy()
  })
  // Limits silence alone; a large upload may take as long as it likes.
  server.setTimeout(60_000)
  server.on('request', (request, response) => {
    options.answer(request, response).catch((error: unknown) => {
      options.onFault?.(`${request.method ?? ''} ${request.url ?? ''}`, error)
      response.destroy()
    })
  })
  if (options.upgrade !== undefined) server.on('upgrade', options.upgrade)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    // Browsers open connections ahead. What is written on one that nothing was asked on would be taken for the answer to
    // whatever is asked next; where it closes without a word, they ask again on another.
    if (isLate && 'bytesRead' in socket && socket.bytesRead === 0) socket.destroy()
    else refuseSocket(socket, isLate ? 408 : 400)
  })
  await listen(server, options.port)
  return {
    origin: `http://${loopback}:${(server.address() as AddressInfo).port}`,
    get connections() {
      return open.size
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(port, error)))
    server.listen({ port, host: loopback, exclusive: true }, resolve)
  })
}

function listenError(port: number, error: unknown): Error {
  const code = systemCode(error)
  if (code !== 'EADDRINUSE' && code !== 'EACCES')
    return error instanceof Error ? error : new Error(String(error))
  const reason = code === 'EADDRINUSE' ? 'is in use by another program' : 'may not be used by this account'
  return usageError(`Port ${port} ${reason}.`, 'Choose another one, or 0 for any free one.', error)
}

export function refuseSocket(socket: Duplex, status: number): void {
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  )
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** Client's end of a WebSocket to the headless host. Runs wherever WebSocket and fetch are global: browsers, Node. */
import { AppError, type ErrorCode } from '../errors.ts'
import type { Port } from './protocol.ts'

/** Address and token of the host, as in the address that `turnwise serve` prints. */
export interface HostAddress {
  /** Origin such as http://127.0.0.1:4123. */
  readonly origin: string
  readonly token: string
}

export const apiPath = '/api'
/**
 * Answers 204 if a WebSocket with this token and `?protocol=` would be accepted, else the status and `{ message, hint
 * }` of the refusal: a browser does not learn why a WebSocket was refused.
 */
export const sessionPath = '/api/session'
/** Accepts a file by PUT; the answer's `uploadId` refers to it. */
export const uploadsPath = '/api/uploads'

export const webSocketProtocol = 'turnwise.v1'
/** Subprotocol that carries the token, since browsers can send no header with a WebSocket. */
export const tokenProtocol = (token: string): string => `turnwise.token.${token}`

/**
 * Errors: AppError 'api/refused' if the host does not accept the token, 'api/unknown' if it has another version of the
 * protocol, 'api/disconnected' if it is not running or has no room for another connection.
 */
export async function openWebSocketPort({ origin, token }: HostAddress): Promise<Port> {
  const url = origin.replace(/^http/, 'ws') + apiPath
  const socket = new WebSocket(url, [webSocketProtocol, tokenProtocol(token)])
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  socket.addEventListener('open', () => resolve(undefined), { once: true })
  // Some clients report a refused connection through only one of these.
  socket.addEventListener('error', () => reject(new Error('refused')), { once: true })
  socket.addEventListener('close', () => reject(new Error('closed')), { once: true })
  const port = portOf(socket)
  try {
    await promise
  } catch {
    throw await explainRefusal({ origin, token })
  }
  return port
}

function portOf(socket: WebSocket): Port {
  const waiting: unknown[] = []
  let handle = (message: unknown): void => void waiting.push(message)
  let isClosed = false
  socket.addEventListener('message', (event) => handle(event.data))
  socket.addEventListener('close', () => (isClosed = true), { once: true })
  return {
    post(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    listen(handler) {
      handle = handler
      for (const message of waiting.splice(0)) handler(message)
    },
    close: () => socket.close(),
    onClose(handler) {
      if (isClosed) handler()
      else socket.addEventListener('close', () => handler(), { once: true })
    },
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'api/unknown',
  401: 'api/refused',
  421: 'api/refused',
}

async function explainRefusal({ origin, token }: HostAddress): Promise<AppError> {
  const url = `${origin}${sessionPath}?protocol=${webSocketProtocol}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } }).catch(() => null)
  if (response === null) {
    return new AppError(
      'api/disconnected',
      'The host does not answer.',
      'Start it again with turnwise serve; runs are kept.',
    )
  }
  // A body that is not JSON does not come from our host.
  const said = (await response.json().catch(() => ({}))) as { message?: string; hint?: string | null }
  return new AppError(
    codes[response.status] ?? 'api/disconnected',
    said.message ?? 'The host answers, but the connection failed.',
    said.hint ?? undefined,
  )
}

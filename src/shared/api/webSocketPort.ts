/** The client's end of a WebSocket to the headless host. Runs wherever WebSocket and fetch are global: browsers, Node. */
import { AppError } from '../errors.ts'
import type { Port } from './port.ts'

/** Where the host listens and what opens it; both stand in the address that `turnwise serve` prints. */
export interface HostAddress {
  /** Such as http://127.0.0.1:4123. */
  readonly origin: string
  readonly token: string
}

export const apiPath = '/api'
/** Answers 204 to a valid token, 401 to another one: a browser does not learn why a WebSocket was refused. */
export const sessionPath = '/api/session'
/** PUT of a file; the answer's `uploadId` stands for it. */
export const uploadsPath = '/api/uploads'

export const webSocketProtocol = 'turnwise.v1'
/** Browsers can send no header with a WebSocket, but protocols. */
export const tokenProtocol = (token: string): string => `turnwise.token.${token}`

/** Errors: AppError 'api/refused' when the host does not accept the token, 'api/disconnected' when it is not there. */
export async function openWebSocketPort({ origin, token }: HostAddress): Promise<Port> {
  const url = origin.replace(/^http/, 'ws') + apiPath
  const socket = new WebSocket(url, [webSocketProtocol, tokenProtocol(token)])
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  socket.addEventListener('open', () => resolve(undefined), { once: true })
  // Some clients tell of a refused connection by one of these only.
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

async function explainRefusal({ origin, token }: HostAddress): Promise<AppError> {
  const status = await fetch(origin + sessionPath, { headers: { authorization: `Bearer ${token}` } }).then(
    (response) => response.status,
    () => null,
  )
  if (status === 401 || status === 421) {
    return new AppError(
      'api/refused',
      'The host does not accept this address.',
      'Open the address that the host printed when it started last.',
    )
  }
  return new AppError(
    'api/disconnected',
    'The host does not answer.',
    'Start it again with turnwise serve; runs are kept.',
  )
}

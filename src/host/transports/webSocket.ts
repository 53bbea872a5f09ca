/** The host's end of a WebSocket, with limits for slow, silent and disconnected clients. */
import type { WebSocket } from 'ws'
import type { Port } from '#shared/api/protocol.ts'

/** A client with more than this unread is not listened to until it has caught up. */
const pauseAboveBytes = 4 * 1024 * 1024
const resumeBelowBytes = 1024 * 1024

/** A client with more than this unread is cut off. */
const dropAboveBytes = 256 * 1024 * 1024

const policyViolation = 1008

/** `closeTimeoutMs`: how long a client has to agree to a close before it is cut off. */
export function webSocketPort(socket: WebSocket, closeTimeoutMs = 2000): Port {
  const relieve = (): void => {
    if (socket.isPaused && socket.bufferedAmount < resumeBelowBytes) socket.resume()
  }
  // A malformed frame, a reset: 'close' follows and says all there is to do.
  socket.on('error', () => undefined)
  return {
    post(text) {
      if (socket.readyState !== socket.OPEN) return
      socket.send(text, relieve)
      if (socket.bufferedAmount > dropAboveBytes) socket.terminate()
      else if (socket.bufferedAmount > pauseAboveBytes) socket.pause()
    },
    listen(handler) {
      socket.on('message', (data, isBinary) => handler(isBinary ? data : textOf(data)))
    },
    close(reason) {
      // A paused socket would never hear the answer to its close.
      if (socket.isPaused) socket.resume()
      socket.close(policyViolation, reason)
      setTimeout(() => socket.terminate(), closeTimeoutMs).unref()
    },
    onClose(handler) {
      if (socket.readyState === socket.CLOSED) handler()
      else socket.once('close', () => handler())
    },
  }
}

function textOf(data: Buffer | ArrayBuffer | Buffer[]): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.from(data as ArrayBuffer).toString('utf8')
}

/** Pings the client and cuts it off when a whole interval brought no sign of life: half-open connections end too. */
export function watchLiveness(socket: WebSocket, intervalMs: number): void {
  let isAlive = true
  const notice = (): void => {
    isAlive = true
  }
  const timer = setInterval(() => {
    if (!isAlive) socket.terminate()
    isAlive = false
    socket.ping()
  }, intervalMs).unref()
  socket.on('pong', notice)
  socket.on('message', notice)
  socket.once('close', () => clearInterval(timer))
}

/** The common part of MessagePort in node:worker_threads and MessagePortMain in Electron. */
interface MessageEndpoint {
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'close', listener: () => void): unknown
  postMessage(message: string): void
  start(): void
  close(): void
}

/** A port over one end of a message channel; nothing else may listen to it. */
export function messagePort(endpoint: MessageEndpoint): Port {
  let isClosed = false
  const closeHandlers: (() => void)[] = []
  endpoint.on('close', () => {
    isClosed = true
    for (const handler of closeHandlers.splice(0)) handler()
  })
  return {
    post(text) {
      if (!isClosed) endpoint.postMessage(text)
    },
    listen(handler) {
      endpoint.on('message', (message) => handler(contentOf(message)))
      endpoint.start()
    },
    close: () => endpoint.close(),
    onClose(handler) {
      if (isClosed) handler()
      else closeHandlers.push(handler)
    },
  }
}

/** Returns the content of a message: Node passes what was posted; Electron an event that has it as `data`. */
const contentOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'data' in message ? message.data : message

import type { Port } from '#shared/api/port.ts'

/** What MessagePort of node:worker_threads and MessagePortMain of Electron have in common. */
export interface MessageEndpoint {
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

/** Node passes what was posted; Electron an event that has it as `data`. */
const contentOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'data' in message ? message.data : message

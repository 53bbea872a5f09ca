/** A process's end of the line to its host: Node's IPC channel, or Electron's where it was started by it. */
import type { FromTrainer, ToTrainer } from './messages.ts'

export interface HostChannel<Heard = ToTrainer, Said = FromTrainer> {
  listen(handler: (message: Heard) => void): void
  /** Resolves when the message is on its way; a host that is gone is no fault. */
  report(message: Said): Promise<void>
  /** Nobody listens any more. */
  onLost(handler: () => void): void
}

/** What a process of Electron's utilityProcess finds as `process.parentPort`. */
interface ParentPort {
  on(event: 'message', listener: (event: { readonly data: unknown }) => void): unknown
  on(event: 'close', listener: () => void): unknown
  postMessage(message: unknown): void
}

export function openHostChannel<Heard = ToTrainer, Said = FromTrainer>(): HostChannel<Heard, Said> {
  const { parentPort } = process as { readonly parentPort?: ParentPort }
  return parentPort === undefined ? ipcChannel() : parentPortChannel(parentPort)
}

const ipcChannel = <Heard, Said>(): HostChannel<Heard, Said> => ({
  listen: (handler) => void process.on('message', (message) => handler(message as Heard)),
  report: (message) =>
    new Promise((resolve) => {
      if (!process.connected) resolve()
      else process.send?.(message, undefined, undefined, () => resolve())
    }),
  onLost: (handler) => void process.on('disconnect', handler),
})

const parentPortChannel = <Heard, Said>(port: ParentPort): HostChannel<Heard, Said> => ({
  listen: (handler) => void port.on('message', ({ data }) => handler(data as Heard)),
  report(message) {
    port.postMessage(message)
    return Promise.resolve()
  },
  onLost: (handler) => void port.on('close', handler),
})

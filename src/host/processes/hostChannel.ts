/** A process's end of the line to its host: Node's IPC channel, or Electron's where it was started by it. */
import { Worker } from 'node:worker_threads'

export interface HostChannel<Heard, Said> {
  listen(handler: (message: Heard) => void): void
  /**
   * Sends a message; resolves when it is on its way, the last one when it has arrived. A host that is gone is not an
   * error.
   */
  report(message: Said): Promise<void>
  /** Calls the handler when nobody listens any more. */
  onLost(handler: () => void): void
}

/** `process.parentPort` in a process of Electron's utilityProcess. */
interface ParentPort {
  on(event: 'message', listener: (event: { readonly data: unknown }) => void): unknown
  on(event: 'close', listener: () => void): unknown
  postMessage(message: unknown): void
}

/** Answer to a last word. */
export const heard = { type: 'heard' } as const

/** Returns true if a process ends after this message. */
export const isLastWord = (message: unknown): boolean => ['done', 'failed'].includes(String(typeOf(message)))

const typeOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'type' in message ? message.type : null

export function openHostChannel<Heard, Said>(): HostChannel<Heard, Said> {
  // Outside of Electron there is none, whatever its types say.
  const { parentPort } = process as unknown as { readonly parentPort?: ParentPort }
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

/** A host that does not answer any more is not waited for longer. */
const answerMs = 5000

/**
 * Channel over Electron's port, which does not say when a message has left; what was posted just before the end may be
 * lost with it.
 */
function parentPortChannel<Heard, Said>(port: ParentPort): HostChannel<Heard, Said> {
  const answered = Promise.withResolvers<undefined>()
  port.on('message', ({ data }) => {
    if (typeOf(data) === heard.type) answered.resolve(undefined)
  })
  port.on('close', () => answered.resolve(undefined))
  return {
    listen(handler) {
      port.on('message', ({ data }) => {
        if (typeOf(data) !== heard.type) handler(data as Heard)
      })
    },
    async report(message) {
      port.postMessage(message)
      if (!isLastWord(message)) return
      setTimeout(answered.resolve, answerMs, undefined).unref()
      await answered.promise
    },
    onLost: (handler) => void port.on('close', handler),
  }
}

/* What ends a process of ours that is too busy to listen: it is watched from a thread of its own. */

const everyMs = 200

/**
 * Ends this process with the one that started it, and when more than `maxBytes` of its memory are resident. Electron looks
 * after its utility processes itself when it ends.
 */
export function watchThisProcess({
  maxBytes = Infinity,
}: { readonly maxBytes?: number | undefined } = {}): void {
  const thread = new Worker(watcherSource, {
    eval: true,
    workerData: { parent: process.connected ? process.ppid : null, maxBytes, everyMs },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
  })
  thread.unref()
}

/** Source text, so that it works alike from TypeScript sources and from a bundle. Windows gives orphans no new parent. */
const watcherSource = `
  const { workerData: { parent, maxBytes, everyMs } } = require('node:worker_threads')
  const isOrphan = () => {
    if (parent === null) return false
    if (process.ppid !== parent) return true
    try {
      process.kill(parent, 0)
      return false
    } catch ({ code }) {
      return code === 'ESRCH'
    }
  }
  setInterval(() => {
    if (isOrphan() || process.memoryUsage.rss() > maxBytes) process.kill(process.pid, 'SIGKILL')
  }, everyMs)
`

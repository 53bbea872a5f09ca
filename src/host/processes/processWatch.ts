/** What ends a process of ours that is too busy to listen: it is watched from a thread of its own. */
import { Worker } from 'node:worker_threads'

const everyMs = 200

/**
 * Ends this process with the one that started it, and when more than `maxBytes` of its memory are resident. Electron looks
 * after its utility processes itself when it ends.
 */
export function watchThisProcess({ maxBytes = Infinity }: { readonly maxBytes?: number } = {}): void {
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

/** How many requests of the window were refused since the program was installed; a page shows the number. */
import type { Host } from '#host/host.ts'

const blockedRequestsKey = 'network.blockedRequests'

const writeAfterMs = 1000

/** Counts in memory and writes the sum now and then: a page that asks in a loop must not keep the disk busy. */
export function countBlockedRequests({ store, bell }: Pick<Host, 'store' | 'bell'>): () => void {
  const stored = store.settings.get(blockedRequestsKey)
  let count = typeof stored === 'number' ? stored : 0
  let timer: NodeJS.Timeout | null = null
  return () => {
    count++
    timer ??= setTimeout(() => {
      timer = null
      store.settings.set(blockedRequestsKey, count)
      bell.ring()
    }, writeAfterMs).unref()
  }
}

/** A page is redrawn four times a second at most, however fast news comes. */
const everyMs = 250

export interface Batch<Item> {
  readonly add: (item: Item) => void
  readonly flush: () => void
}

/** Hands over the first item at once and those that follow together. */
export function batch<Item>(take: (items: readonly Item[]) => void): Batch<Item> {
  let waiting: Item[] = []
  let timer: ReturnType<typeof setTimeout> | null = null
  let lastAt = -Infinity
  const flush = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (waiting.length === 0) return
    const items = waiting
    waiting = []
    lastAt = performance.now()
    take(items)
  }
  return {
    add(item) {
      waiting.push(item)
      timer ??= setTimeout(flush, Math.max(0, lastAt + everyMs - performance.now()))
    },
    flush,
  }
}

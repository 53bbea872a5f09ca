import type { Port } from '#shared/api/protocol.ts'

/** Two ends of a connection within one process. Messages arrive later, in order, as over any other port. */
export function memoryPorts(): readonly [Port, Port] {
  const left = new MemoryEnd()
  const right = new MemoryEnd()
  left.peer = right
  right.peer = left
  return [left, right]
}

class MemoryEnd implements Port {
  peer: MemoryEnd | null = null
  readonly #waiting: string[] = []
  readonly #closeHandlers: (() => void)[] = []
  #handler: ((message: unknown) => void) | null = null
  #isClosed = false

  post(text: string): void {
    if (!this.#isClosed) queueMicrotask(() => this.peer?.arrive(text))
  }

  arrive(text: string): void {
    if (this.#isClosed) return
    if (this.#handler === null) this.#waiting.push(text)
    else this.#handler(text)
  }

  listen(handler: (message: unknown) => void): void {
    this.#handler = handler
    for (const text of this.#waiting.splice(0)) handler(text)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Behind the messages that are under way.
    queueMicrotask(() => {
      this.peer?.close()
      for (const handler of this.#closeHandlers.splice(0)) handler()
    })
  }

  onClose(handler: () => void): void {
    if (this.#isClosed) queueMicrotask(handler)
    else this.#closeHandlers.push(handler)
  }
}

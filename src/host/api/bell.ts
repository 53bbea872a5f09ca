/** Signals that something changed: waiters re-check the state. A signal sent while nobody waits is not lost. */
export class Bell {
  #rings = 0
  readonly #waiting = new Set<() => void>()

  /** Number of rings so far: taken before looking, so that nothing between looking and waiting is missed. */
  get rings(): number {
    return this.#rings
  }

  ring(): void {
    this.#rings++
    for (const wake of [...this.#waiting]) wake()
  }

  /** Resolves when there were more rings than `seen`, or when the signal aborts. */
  async after(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#rings > seen || signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }
}

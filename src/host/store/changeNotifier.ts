/** Notifies waiters that something changed, so that they read the state again. A notification while nobody waits is not lost. */
export class ChangeNotifier {
  #notifications = 0
  readonly #waiting = new Set<() => void>()

  /** Number of notifications so far: read before the state, so that no change between reading and waiting is missed. */
  get notifications(): number {
    return this.#notifications
  }

  notify(): void {
    this.#notifications++
    for (const wake of [...this.#waiting]) wake()
  }

  /** Resolves when there were more notifications than `seen`, or when the signal aborts. */
  async after(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#notifications > seen || signal.aborted) return
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

/**
 * A limit on processor time of this thread, not on the time of day: a machine that is busy with something else fails no
 * sample. Nothing in the sandbox can sleep, so a call that hangs uses up its time all the same.
 *
 * Reading the processor time costs more than a short call, so it is read only where the time of day says it may be over:
 * the readings before are up to `staleMs` old, and what earlier calls used since then is given away.
 */
const staleMs = 20

export class Deadline {
  #budgetMs = Infinity
  #startedAt = 0
  #readAt = -Infinity
  #processorMsThen = 0

  start(budgetMs: number): void {
    this.#budgetMs = budgetMs
    this.#startedAt = performance.now()
    if (this.#startedAt - this.#readAt < staleMs) return
    this.#readAt = this.#startedAt
    this.#processorMsThen = processorMs()
  }

  hasPassed(): boolean {
    if (performance.now() - this.#startedAt <= this.#budgetMs) return false
    const usedBefore = this.#startedAt - this.#readAt
    return processorMs() - this.#processorMsThen - usedBefore > this.#budgetMs
  }
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

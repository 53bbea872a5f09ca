/**
 * Limits for processes that run what came from elsewhere: how long they may work, and how long they may do nothing. Both
 * hold on a busy machine as on an idle one, since only the processor time that a process got counts as work.
 */
import type { Meter, ProcessUse } from './processorTime.ts'

export interface WorkLimit {
  /** Processor time until the next message, ms. What several cores do at once counts once. */
  readonly workMs: number
  /** Time of day that a process may spend waiting instead of working, ms. */
  readonly idleMs: number
}

/** Error that says which limit a process passed before it said anything. */
export class Overrun extends Error {
  readonly kind: 'work' | 'idle'
  /** Work that was done, ms. */
  readonly workedMs: number

  constructor(kind: Overrun['kind'], limit: WorkLimit, workedMs: number) {
    super(
      kind === 'work'
        ? `it used up ${limit.workMs / 1000} s of processor time`
        : `it did nothing for ${limit.idleMs / 1000} s`,
    )
    this.name = 'Overrun'
    this.kind = kind
    this.workedMs = workedMs
  }
}

/** The first look; few answers take as long. */
const firstLookMs = 100

/** Share of the time below which a process counts as waiting: it sleeps or polls. */
const leastShare = 0.01

/** The work of a process, from one look to the next. */
export class Work {
  readonly #limit: WorkLimit
  #last: { readonly usedMs: number; readonly atMs: number } | null = null
  #workedMs = 0
  #idleMs = 0
  /** Work since it was last idle no more. */
  #freshMs = 0
  #looksOver = 0

  constructor(limit: WorkLimit) {
    this.#limit = limit
  }

  /** Time until looking again makes sense, ms: no limit can be passed before. */
  get pauseMs(): number {
    if (this.#last === null || this.#looksOver > 0) return firstLookMs
    const { workMs, idleMs } = this.#limit
    return Math.max(firstLookMs, Math.min(workMs - this.#workedMs, idleMs / 4))
  }

  /**
   * Returns the limit that is passed; null: none yet. A limit must be passed twice, since a message may have come while
   * this process was busy itself.
   */
  look({ usedMs, isReady }: ProcessUse, atMs: number, pausedMs: number): Overrun | null {
    const last = this.#last
    this.#last = { usedMs, atMs }
    if (last === null) return null
    const elapsed = atMs - last.atMs
    // Children that end may take their time with them.
    const work = Math.min(elapsed, Math.max(0, usedMs - last.usedMs))
    this.#workedMs += work
    this.#freshMs += work
    // A machine that slept, or had no time for us either, was not waited for, nor is a process that waits for its processor alone.
    this.#idleMs += isReady ? 0 : Math.min(elapsed, 2 * pausedMs)
    if (this.#freshMs >= leastShare * this.#limit.idleMs) this.#freshMs = this.#idleMs = 0
    const kind = this.#over()
    this.#looksOver = kind === null ? 0 : this.#looksOver + 1
    return kind !== null && this.#looksOver > 1 ? new Overrun(kind, this.#limit, this.#workedMs) : null
  }

  #over(): Overrun['kind'] | null {
    if (this.#workedMs >= this.#limit.workMs) return 'work'
    return this.#idleMs >= this.#limit.idleMs ? 'idle' : null
  }
}

/** Waits for the next message of a process, or tells which limit it passed before; the caller then ends it. */
export async function withinLimit<Said>(
  next: Promise<Said>,
  meter: Meter,
  limit: WorkLimit,
): Promise<Said | Overrun> {
  const work = new Work(limit)
  const said = next.then((value) => ({ value }))
  for (;;) {
    const { pauseMs } = work
    const heard = await Promise.race([said, after(pauseMs, said)])
    if (heard !== null) return heard.value
    const overrun = work.look(await meter(), performance.now(), pauseMs)
    if (overrun !== null) return overrun
  }
}

/** null, after so long; the clock stops when the other comes first. */
function after(durationMs: number, other: Promise<unknown>): Promise<null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs, null)
    const stop = () => clearTimeout(timer)
    void other.then(stop, stop)
  })
}

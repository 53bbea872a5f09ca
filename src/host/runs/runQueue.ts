/** Starts queued runs one after the other; the caller stores the queue. */
import { faultToStderr, guarded, type OnFault } from '#host/faults.ts'
import type { Supervisor, WorkerEnding } from './supervisor.ts'
import { packError } from '#host/processes/messages.ts'

export interface QueuedRun {
  readonly id: string
  readonly directory: string
  /** Folder of the checkpoint to go on from; null = from the start. */
  readonly resumeFrom: string | null
  /** The next run starts although this one failed. */
  readonly continueOnError: boolean
}

export interface RunQueueOptions {
  readonly supervisor: Supervisor
  /** Removes the next run from the list and returns it; null when none waits. */
  readonly takeNext: () => QueuedRun | null
  /** Most processes at the same time, including those that were started by hand or are paused. */
  readonly limit?: number
  /** True: nothing starts before somebody says to go on. */
  readonly isHeld?: boolean
  /** Called when somebody does, before anything starts. */
  readonly onReleased?: () => void
  /** The run whose failure the others wait behind from the beginning; null or absent: none. */
  readonly haltedBy?: string | null
  /** A run failed that the others must not pass over; null: `proceed` goes on all the same. */
  readonly onHalted?: (runId: string | null) => void
  /** A run of the list could not be started at all; `onHalted` follows where it applies. */
  readonly onNotStarted?: (ending: WorkerEnding) => void
  /** Called with errors in starting the next run when one has ended. */
  readonly onFault?: OnFault
}

export class RunQueue {
  readonly #options: RunQueueOptions
  #haltedBy: string | null
  #isHeld: boolean
  #isClosed = false

  constructor(options: RunQueueOptions) {
    this.#options = options
    this.#haltedBy = options.haltedBy ?? null
    this.#isHeld = options.isHeld ?? false
  }

  /** True while nothing starts before somebody says to go on. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** The run whose failure the others wait behind; null: they go on. */
  get haltedBy(): string | null {
    return this.#haltedBy
  }

  /** Starts what may be started now. To be called when a run was put into the list or any run has ended. */
  advance(): void {
    const { supervisor, takeNext, limit = 1 } = this.#options
    while (!this.#isHeld && this.#haltedBy === null && !this.#isClosed && supervisor.list().length < limit) {
      const run = takeNext()
      if (run === null) return
      this.#start(run)
    }
  }

  /** Continues after a halt. Errors: those of `onReleased`; then it stays as it was. */
  proceed(): void {
    if (this.#isHeld) this.#options.onReleased?.()
    this.#isHeld = false
    this.#halt(null)
    this.advance()
  }

  /** Starts nothing any more. */
  close(): void {
    this.#isClosed = true
  }

  #start(run: QueuedRun): void {
    try {
      const ended = this.#options.supervisor.start(run, { resumeFrom: run.resumeFrom })
      const next = (ending: WorkerEnding) => {
        this.#settle(run, ending)
        this.advance()
      }
      void ended.then(guarded('the queue', this.#options.onFault ?? faultToStderr, next))
    } catch (error) {
      const { id: runId, directory } = run
      const ending = { runId, directory, kind: 'failed', error: packError(error), stderrTail: null } as const
      this.#options.onNotStarted?.(ending)
      this.#settle(run, ending)
    }
  }

  /** Takes in the end of a run; one that was ended on purpose is not a failure. */
  #settle({ continueOnError }: QueuedRun, ending: WorkerEnding): void {
    const hasFailed = ending.kind === 'failed' || ending.kind === 'crashed'
    if (!hasFailed || continueOnError) return
    this.#halt(ending.runId)
  }

  #halt(runId: string | null): void {
    if (this.#haltedBy === runId) return
    this.#haltedBy = runId
    this.#options.onHalted?.(runId)
  }
}

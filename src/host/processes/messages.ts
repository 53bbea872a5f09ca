/**
 * What a host and its training process say to each other; plain JSON, checked by the compiler on both sides. Events do
 * not travel this way: they are in the run's log, and the host is only told that it grew.
 */
import type { SettingChange } from '#shared/config/changes.ts'
import type { PhaseProgress, RunPhase, ScheduledStage, StepPhase } from '#shared/events.ts'
import { AppError, errorFields, errorOf, type ErrorCode, type KeyUse, type Problem } from '#shared/errors.ts'

export interface TrainingRequest {
  /** Holds config.json. */
  readonly runDirectory: string
  readonly cacheDirectory: string
  /** Those of this machine to Python; absent: no Python runs. */
  readonly consents?: string
  /** Folder of the checkpoint to go on from; null = from the start. */
  readonly resumeFrom: string | null
  /** All changes of the run's settings, some of them made for this start; absent: those of its log. */
  readonly changes?: readonly SettingChange[] | undefined
  /** What a trial of the same settings expected, stage by stage; null or absent where none was made. */
  readonly expected?: readonly ScheduledStage['expected'][] | null
  /** Evaluate and stop after this step, to be continued; absent: train to the end. */
  readonly until?: number
}

export type ToTrainer =
  | { readonly type: 'start'; readonly request: TrainingRequest }
  /** Wait after the current step, with a checkpoint. */
  | { readonly type: 'pause' }
  /** `changes`: all of the run's settings, some of them made during the pause; absent: none were made. */
  | { readonly type: 'unpause'; readonly changes?: readonly SettingChange[] | undefined }
  /** End after the current step, with a checkpoint. */
  | { readonly type: 'stop' }

export type FromTrainer =
  /** The log grew; `phase` is the new one where it changed. */
  | { readonly type: 'grown'; readonly phase: RunPhase | null }
  /** What the step is at; a few times a second at most. */
  | { readonly type: 'phase'; readonly phase: StepPhase; readonly progress: PhaseProgress | null }
  /** Said every few seconds, whatever goes on. */
  | { readonly type: 'alive' }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly error: ErrorEnvelope }

/** An error on its way between processes; `code` is null for a fault of ours. */
export interface ErrorEnvelope {
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint?: string | null | undefined
  readonly command?: string | undefined
  readonly problems?: readonly Problem[] | undefined
  readonly keys?: readonly KeyUse[] | undefined
  readonly stack?: string | undefined
}

export function packError(error: unknown): ErrorEnvelope {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  return error instanceof AppError ? { ...errorFields(error), stack } : { code: null, message, stack }
}

export function unpackError({ code, stack, ...fields }: ErrorEnvelope): Error {
  const error = code === null ? new Error(fields.message) : errorOf({ code, ...fields })
  if (stack !== undefined) error.stack = stack
  return error
}

/* A process of ours as its host sees it; a training process where nothing else is said. A run has a process of its own, so that a native crash or the system's
 * out-of-memory killer ends the run and not the program that shows it. childProcess.ts starts one under Node; whoever
 * starts it by other means (a desktop shell) implements this. */

export interface WorkerExit {
  readonly exitCode: number | null
  readonly signal: string | null
  /** Why the process could not even be started; null when it could. */
  readonly failure: string | null
}

export interface WorkerProcess<Sent = ToTrainer, Heard = FromTrainer> {
  /** null: not started, or the system does not tell. */
  readonly pid: number | null
  /** A process that is gone is no fault. */
  send(message: Sent): void
  /** At once, without a chance to tidy up. */
  kill(): void
  onMessage(listener: (message: Heard) => void): void
  /** Resolves when the process is gone and its last message was heard. */
  readonly ended: Promise<WorkerExit>
}

/**
 * Starts the script `trainingProcess`. What it writes to stdout and stderr is appended to `logFile`, if possible by the
 * process itself: it must not depend on a host that reads.
 */
export type StartWorker = (options: {
  readonly logFile: string
  readonly environment?: WorkerEnvironment
}) => WorkerProcess

/** Variables of the process, on top of those of whoever starts it. */
export type WorkerEnvironment = Readonly<Record<string, string>>

/** Messages that came and were not taken yet. */
export class Inbox<Message> {
  readonly #messages: Message[] = []
  #wake = () => {}

  add(message: Message): void {
    this.#messages.push(message)
    this.#wake()
  }

  async next(): Promise<Message> {
    for (;;) {
      const message = this.#messages.shift()
      if (message !== undefined) return message
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/**
 * A process of ours as its host sees it; a training process where nothing else is said. A run has a process of its own, so that a native crash or the system's
 * out-of-memory killer ends the run and not the program that shows it. childProcess.ts starts one under Node; whoever
 * starts it by other means (a desktop shell) implements this.
 */
import type { FromTrainer, ToTrainer } from './messages.ts'

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

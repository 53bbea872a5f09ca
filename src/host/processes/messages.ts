/**
 * What a host and its training process say to each other; plain JSON, checked by the compiler on both sides. Events do
 * not travel this way: they are in the run's log, and the host is only told that it grew.
 */
import type { PhaseProgress, RunPhase, ScheduledStage, StepPhase } from '#shared/events.ts'
import { AppError, type ErrorCode } from '#shared/errors.ts'

export interface TrainingRequest {
  /** Holds config.json. */
  readonly runDirectory: string
  readonly cacheDirectory: string
  /** Folder of the checkpoint to go on from; null = from the start. */
  readonly resumeFrom: string | null
  /** What a trial of the same settings expected, stage by stage; null or absent where none was made. */
  readonly expected?: readonly ScheduledStage['expected'][] | null
}

export type ToTrainer =
  | { readonly type: 'start'; readonly request: TrainingRequest }
  /** Wait after the current step, with a checkpoint. */
  | { readonly type: 'pause' }
  | { readonly type: 'unpause' }
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
  readonly hint: string | undefined
  readonly stack: string | undefined
}

export function packError(error: unknown): ErrorEnvelope {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  return error instanceof AppError
    ? { code: error.code, message, hint: error.hint, stack }
    : { code: null, message, hint: undefined, stack }
}

export function unpackError({ code, message, hint, stack }: ErrorEnvelope): Error {
  const error = code === null ? new Error(message) : new AppError(code, message, hint)
  if (stack !== undefined) error.stack = stack
  return error
}

/** Defines what the program's own processes have in common: control from outside, messages and errors. */
import type { z } from 'zod'
import type { failure } from '#shared/api/common.ts'
import { AppError, errorFields, errorOf, type ErrorCode, type ErrorFields } from '#shared/errors.ts'

/** Error on its way between processes; `code` is null for an internal error. */
export interface ErrorEnvelope extends Omit<ErrorFields, 'code'> {
  readonly code: ErrorCode | null
  readonly stack?: string | undefined
}

export function packError(error: unknown): ErrorEnvelope {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  return error instanceof AppError ? { ...errorFields(error), stack } : { code: null, message, stack }
}

/** The error as data for people. */
export function packFailure(error: unknown): z.output<typeof failure> {
  const { code, message, hint = null } = packError(error)
  return { code, message, hint }
}

export function unpackError({ code, stack, ...fields }: ErrorEnvelope): Error {
  const error = code === null ? new Error(fields.message) : errorOf({ code, ...fields })
  if (stack !== undefined) error.stack = stack
  return error
}

export interface WorkerExit {
  readonly exitCode: number | null
  readonly signal: string | null
  /** Reason why the process could not even be started; null when it could. */
  readonly failure: string | null
}

/**
 * One of our processes as its host sees it: `childProcess.ts` starts one under Node, a desktop shell implements this by
 * other means.
 */
export interface WorkerProcess<Sent, Heard> {
  /** null: not started, or the system does not tell. */
  readonly pid: number | null
  /** Sends a message; a process that is gone is not an error. */
  send(message: Sent): void
  /** Ends it at once, without a chance to clean up. */
  kill(): void
  onMessage(listener: (message: Heard) => void): void
  /** Resolves when the process is gone and its last message was heard. */
  readonly ended: Promise<WorkerExit>
}

/** Variables of the process, in addition to those of its parent. */
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

/**
 * Errors a person can cause. Everything else (a broken assumption in our own code) throws a plain `Error`.
 * Across processes only `{ code, message, hint }` travels.
 */
export type ErrorCode =
  | 'config/invalid'
  | 'model/invalid'
  | 'model/unsupported'
  | 'adapter/invalid'
  | 'checkpoint/invalid'
  | 'data/invalid'
  | 'tokenizer/invalid'
  | 'file/unreadable'
  | 'file/unwritable'
  | 'file/exists'
  | 'device/unavailable'
  | 'device/unsound'
  | 'device/out-of-memory'
  | 'runtime/out-of-memory'
  | 'runtime/failed'
  | 'reward/failed'
  | 'environment/failed'
  | 'probe/failed'
  | 'run/diverged'
  | 'run/unsound'
  | 'run/destroyed'
  | 'run/busy'
  | 'run/not-found'
  | 'run/stopped'
  | 'store/unreadable'
  | 'store/too-new'
  | 'store/busy'
  | 'sandbox/failed'
  | 'server/unreachable'
  | 'server/unsuitable'
  | 'server/failed'
  | 'api/unknown'
  | 'api/invalid'
  | 'api/refused'
  | 'api/disconnected'
  | 'api/cancelled'
  | 'usage/invalid'

/** One clear sentence in `message`; `hint` says what is safe and what to do next. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.hint = hint
  }
}

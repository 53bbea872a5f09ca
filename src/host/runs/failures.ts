import type { AppError } from '#shared/errors.ts'
import type { RunFailure } from '#shared/runs.ts'

/** An error as data: what failed without ending the call it happened in. */
export const failureOf = ({ code, message, hint }: AppError): RunFailure => ({
  code,
  message,
  hint: hint ?? null,
})

/** Errors as the window shows them. */
import { AppError } from '#shared/errors.ts'

export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

/** What to do about it, where the error says so. */
export function hintOf(error: Error): string | undefined {
  if (error instanceof AppError) return error.hint
  return 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined
}

export const codeOf = (error: Error): string | null => (error instanceof AppError ? error.code : null)

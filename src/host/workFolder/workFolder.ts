/**
 * Folder of long work, in its area of the data directory: `runs/run_…`, `studies/st_…`, `evaluations/ev_…`. A process
 * that does the work holds `lock` there; one that has ended holds nothing.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { type AppError, refusal } from '#shared/errors.ts'
import { readError, systemCode } from '#host/files/fileErrors.ts'
import { holdLock, livingOwner } from '#host/files/living.ts'

/** Returns the names of folders in an area that begin so; none where there is no area. Errors: AppError 'file/unreadable'. */
export function workNames(area: string, prefix: string): string[] {
  try {
    return readdirSync(area).filter((name) => name.startsWith(prefix))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw readError(area, error)
  }
}

export const lockFile = (directory: string): string => path.join(directory, 'lock')

/** Returns the id of the living process that does the work; null: none. Errors: AppError 'file/unreadable'. */
export const workHolder = (directory: string): number | null => livingOwner(lockFile(directory))

/** Error of what would go on by itself with other content than it was left with. `what`: subject of the sentence. */
export const changedSince = (what: string): AppError =>
  refusal(
    `${what} was changed since it was left, so it has not gone on by itself.`,
    'It can read your files and send them to the addresses that it names. Look at it, then resume it.',
  )

/** Keeps other processes from the work until disposed of. Errors: `busy`; AppError 'file/unwritable'. */
export function lockWork(directory: string, busy: (holder: number) => AppError): Disposable {
  const holder = workHolder(directory)
  if (holder !== null) throw busy(holder)
  return holdLock(lockFile(directory))
}

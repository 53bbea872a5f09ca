/** The files of a run, and removing them. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { readError } from '#host/files/fileErrors.ts'
import type { Host } from '#host/host.ts'
import { tidyTrash, trashRun } from './trash.ts'

/** None where the folder is gone. */
export function runFiles(directory: string): { path: string; sizeBytes: number }[] {
  if (!existsSync(directory)) return []
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => ({ path: file, sizeBytes: statSync(file).size }))
  } catch (error) {
    throw readError(directory, error)
  }
}

/**
 * Puts a run that nobody trains into the trash, from where it can be restored for a week. Errors: AppError 'run/busy',
 * 'run/not-found', 'file/unwritable'.
 */
export function deleteRun(host: Host, runId: string): void {
  if (host.supervisor.status(runId) !== null) {
    throw new AppError('run/busy', 'The run is being trained.', 'Stop it first.')
  }
  trashRun(host, runId)
  tidyTrash(host)
  host.bell.ring()
}

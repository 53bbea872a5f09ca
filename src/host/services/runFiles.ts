/** The files of a run, and removing them. */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { readError, writeError } from '../artifacts/fileErrors.ts'
import { isRunFolder, lockRun } from '../artifacts/runFolder.ts'
import { dataFolders } from '../dataDirectory.ts'
import type { Host } from '../host.ts'

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

/** Removes a run that nobody trains from the disk and from the history. Errors: AppError 'run/busy', 'run/not-found', 'file/unwritable'. */
export function deleteRun({ dataDirectory, store, supervisor, history, bell }: Host, runId: string): void {
  const { directory } = store.runs.get(runId)
  if (supervisor.status(runId) !== null) {
    throw new AppError('run/busy', 'The run is being trained.', 'Stop it first.')
  }
  if (existsSync(directory)) removeRunFolder(dataDirectory, directory)
  history.forget(runId)
  bell.ring()
}

/** Removes the folder of a run, and nothing else. */
function removeRunFolder(dataDirectory: string, directory: string): void {
  const { runs } = dataFolders(dataDirectory)
  if (path.dirname(directory) !== runs || !isRunFolder(directory)) {
    throw new AppError(
      'file/unwritable',
      `${directory} is not the folder of a run in this data directory, so it is left alone.`,
    )
  }
  lockRun(directory)[Symbol.dispose]()
  // Renamed first: killed in between, it is no run any more instead of half of one.
  const removed = path.join(runs, `.${path.basename(directory)}.removed`)
  try {
    renameSync(directory, removed)
    rmSync(removed, { recursive: true, force: true })
  } catch (error) {
    throw writeError(directory, error)
  }
}

/** Provides temporary folders. */
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { dataFolders } from '#host/dataDirectory.ts'
import { makeFolder, temporaryPath } from './atomic.ts'
import { writing } from './fileErrors.ts'

export interface ScratchFolder extends Disposable {
  readonly folder: string
}

/**
 * Makes an empty folder in the cache of a data directory, readable by its owner only. Disposing removes it with all that is in
 * it; where the process was killed before, the next host does. Errors: AppError 'file/unwritable'.
 */
export const scratchFolder = (dataDirectory: string): ScratchFolder =>
  scratchFolderIn(dataFolders(dataDirectory).cache)

/** Makes one in a given cache. Errors: as `scratchFolder`. */
export function scratchFolderIn(cacheDirectory: string): ScratchFolder {
  const folder = temporaryPath(path.join(cacheDirectory, 'scratch'))
  makeFolder(cacheDirectory)
  writing(folder, () => mkdirSync(folder, { mode: 0o700 }))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

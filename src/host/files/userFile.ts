/** Files whose place a person chose. */
import { lstatSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import { writeFileAtomic } from './atomic.ts'
import { share } from './permissions.ts'

export interface UserFileOptions {
  /** A file that is there already is replaced. */
  readonly overwrite: boolean
}

/**
 * Writes a file whole or not at all. Errors: AppError 'file/exists' where one is there that may not be replaced;
 * 'file/unwritable', also for what is no ordinary file.
 */
export function writeUserFile(file: string, content: string | Uint8Array, options: UserFileOptions): void {
  requireFree(file, options)
  writeFileAtomic(file, content)
  share(file)
}

/** Errors: as `writeUserFile`. To be asked before long work too. */
export function requireFree(file: string, { overwrite }: UserFileOptions): void {
  const status = lstatSync(file, { throwIfNoEntry: false })
  if (status === undefined) return
  // By renaming, a link, a pipe or a device would be replaced by the file itself.
  if (!status.isFile()) {
    throw new AppError(
      'file/unwritable',
      `${file} is ${status.isDirectory() ? 'a folder' : 'no ordinary file'}, so it is not replaced.`,
      'Choose another name; nothing was changed.',
    )
  }
  if (overwrite) return
  throw new AppError(
    'file/exists',
    `${file} is there already.`,
    'Nothing was changed. Choose another name, or say that it may be overwritten.',
  )
}

/**
 * Folder of an export, which has its name only when it is complete and was compared: it is filled as `NAME-unchecked`,
 * then becomes `NAME`, or `NAME-failed` where what was read back is not what was trained.
 */
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { makeFolder, requireOutsideData, writeFileAtomic } from '#host/files/atomic.ts'
import { readError, systemCode, writing } from '#host/files/fileErrors.ts'
import { share } from '#host/files/permissions.ts'
import { requireFreeBytes } from '#host/models/weightCache.ts'

/** Marks a folder that an export has begun; nothing else is ever removed. */
const markName = '.turnwise-export'

/** Folder of the files until they are verified. */
const uncheckedFolder = (out: string): string => `${path.resolve(out)}-unchecked`

const failedFolder = (out: string): string => `${path.resolve(out)}-failed`

/** Errors: AppError 'file/unwritable' for a folder with something in it, a file, or a place in a data directory. */
export function requireNewFolder(folder: string): void {
  requireOutsideData(folder)
  if (isFree(folder)) return
  throw new AppError(
    'file/unwritable',
    `${folder} is not empty.`,
    'Choose another folder; nothing was changed.',
  )
}

function isFree(folder: string): boolean {
  try {
    return !existsSync(folder) || readdirSync(folder).length === 0
  } catch (error) {
    if (systemCode(error) === 'ENOTDIR') return false
    throw readError(folder, error)
  }
}

/** An empty folder to fill. What an earlier export to the same place left is removed. Errors: AppError 'file/unwritable'. */
export function beginFolder(out: string): string {
  requireNewFolder(out)
  const folder = uncheckedFolder(out)
  removeUnchecked(out)
  makeFolder(folder)
  writeFileAtomic(path.join(folder, markName), '')
  return folder
}

/** Removes an export that did not come to its end. */
export function removeUnchecked(out: string): void {
  removeOwn(uncheckedFolder(out))
}

function removeOwn(folder: string): void {
  if (!existsSync(path.join(folder, markName))) requireNewFolder(folder)
  writing(folder, () => rmSync(folder, { recursive: true, force: true }))
}

/** Gives the filled folder its name, and returns it. Errors: AppError 'file/unwritable'. */
export function finishFolder(out: string, passed: boolean): string {
  const target = passed ? path.resolve(out) : failedFolder(out)
  return writing(target, () => {
    if (!passed) removeOwn(target)
    else if (existsSync(target)) rmdirSync(target)
    if (passed) rmSync(path.join(uncheckedFolder(out), markName), { force: true })
    share(uncheckedFolder(out))
    renameSync(uncheckedFolder(out), target)
    return target
  })
}

/** Checks before writing that there is room on the disk. Errors: AppError 'file/unwritable'. */
export const requireRoom = (folder: string, neededBytes: number): void =>
  requireFreeBytes(folder, neededBytes, {
    subject: 'Writing the export and reading it back needs',
    hint: 'Free some space or choose another folder; nothing was written.',
  })

/** The files below a folder, absolute, with their sizes. */
export function filesBelow(folder: string): { path: string; sizeBytes: number }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ path: file, sizeBytes: statSync(file).size }))
}

/**
 * Seals of folders that were written on this machine and are later read by programs which run what is in them, such as the pickles of
 * another trainer's checkpoint: a folder that came from elsewhere, or was changed, has no valid one.
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { sha256Of } from '#host/files/contentHash.ts'
import { reading } from '#host/files/fileErrors.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'

const sealName = 'turnwise.seal'

/** The place, the purpose and the content of a seal (`ownSeal`). */
type Sealed = Readonly<Parameters<typeof ownSeal>>

/** Seals all files of a folder; it counts where the consents do. Errors: AppError 'file/…'. */
export const sealFolder = (folder: string, consents: string): void =>
  writeSeal(folder, [path.dirname(consents), 'folder', folderContent(folder)])

/** Tells whether a folder is as it was sealed here. Errors: AppError 'file/unreadable'. */
export const isSealed = (folder: string, consents: string | null): boolean =>
  consents !== null && hasSeal(folder, [path.dirname(consents), 'folder', folderContent(folder)])

/** Puts a seal into a folder. Errors: AppError 'file/unwritable'. */
export const writeSeal = (folder: string, sealed: Sealed): void =>
  writeFileAtomic(path.join(folder, sealName), ownSeal(...sealed))

/** Tells whether the seal in a folder is that of the content. Errors: AppError 'file/unreadable'. */
export function hasSeal(folder: string, sealed: Sealed): boolean {
  const file = path.join(folder, sealName)
  return existsSync(file) && isOwnSeal(Buffer.from(readSmallFile(file, 1000)).toString('utf8'), ...sealed)
}

/** Returns names and digests of everything in a folder but its seal. Errors: AppError 'file/unreadable'. */
export function folderContent(folder: string): readonly (readonly string[])[] {
  const entries = reading(folder, () => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .map((entry) => ({ entry, place: path.join(entry.parentPath, entry.name) }))
    .filter(({ entry, place }) => !entry.isDirectory() && place !== path.join(folder, sealName))
  const all = entries.map(({ entry, place }) => [
    path.relative(folder, place).split(path.sep).join('/'),
    entry.isFile() ? sha256Of(place) : 'no file',
  ])
  return all.sort()
}

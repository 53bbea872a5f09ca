/**
 * Seals of folders that were written on this machine and are later read by programs which run what is in them, such as the pickles of
 * another trainer's checkpoint: a folder that came from elsewhere, or was changed, has no valid one.
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { sha256Of } from '#host/files/contentHash.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { isOwnSeal, ownSeal } from './ownSeals.ts'

const sealName = 'turnwise.seal'

/** Seals all files of a folder; it counts where the consents do. Errors: AppError 'file/…'. */
export const sealFolder = (folder: string, consents: string): void =>
  writeFileAtomic(path.join(folder, sealName), ownSeal(path.dirname(consents), 'folder', contentOf(folder)))

/** Tells whether a folder is as it was sealed here. Errors: AppError 'file/unreadable'. */
export function isSealed(folder: string, consents: string | null): boolean {
  const file = path.join(folder, sealName)
  if (consents === null || !existsSync(file)) return false
  const said = Buffer.from(readSmallFile(file, 1000)).toString('utf8')
  return isOwnSeal(said, path.dirname(consents), 'folder', contentOf(folder))
}

/** Names and contents of everything in a folder. */
function contentOf(folder: string): readonly (readonly string[])[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, place: path.join(entry.parentPath, entry.name) }))
    .filter(({ entry, place }) => !entry.isDirectory() && place !== path.join(folder, sealName))
  const all = entries.map(({ entry, place }) => [
    path.relative(folder, place).split(path.sep).join('/'),
    entry.isFile() ? sha256Of(place) : 'no file',
  ])
  return all.sort()
}

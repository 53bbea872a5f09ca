/**
 * Seals of folders that were written on this machine and are later read by programs which run what is in them, such as the pickles of
 * another trainer's checkpoint: a folder that came from elsewhere, or was changed, has no valid one.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { sha256Of } from '#host/files/contentHash.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { changeConsents, readConsents } from './consents.ts'

const sealName = 'turnwise.seal'

/** Seals all files of a folder. Errors: AppError 'file/…'. */
export function sealFolder(folder: string, consents: string): void {
  changeConsents(consents, ({ sealKey }) => ({ sealKey: sealKey ?? randomBytes(32).toString('hex') }))
  writeFileAtomic(path.join(folder, sealName), sealOf(folder, readConsents(consents).sealKey ?? ''))
}

/** Tells whether a folder is as it was sealed here. Errors: AppError 'file/unreadable'. */
export function isSealed(folder: string, consents: string | null): boolean {
  const { sealKey } = readConsents(consents)
  const file = path.join(folder, sealName)
  if (sealKey === undefined || !existsSync(file)) return false
  const [said, right] = [readSmallFile(file, 1000), Buffer.from(sealOf(folder, sealKey))]
  return said.length === right.length && timingSafeEqual(said, right)
}

/** Names and contents of everything in a folder, under a key that no other machine has. */
function sealOf(folder: string, key: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, place: path.join(entry.parentPath, entry.name) }))
    .filter(({ entry, place }) => !entry.isDirectory() && place !== path.join(folder, sealName))
  const all = entries.map(({ entry, place }) => [
    path.relative(folder, place).split(path.sep).join('/'),
    entry.isFile() ? sha256Of(place) : 'no file',
  ])
  return createHmac('sha256', key).update(JSON.stringify(all.sort())).digest('hex')
}

/**
 * Sets the permissions of written files. Everything in the data directory is for its owner alone: from the start of a
 * process on, new files are 0600 and new folders 0700. What a person wants written elsewhere gets the permissions that
 * the person's files usually have.
 */
import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { dataFolders } from '#host/dataDirectory.ts'

/** Environment variable that tells our processes the person's own umask, octal. */
const variable = 'TURNWISE_UMASK'

/** Sets the umask so that files are private; to be called first in every process of ours. */
export function keepPrivate(): void {
  if (process.platform === 'win32' || !isMainThread) return
  const umask = process.umask(0o077)
  process.env[variable] ??= umask.toString(8)
}

/** Gives a file, or a folder with all that is in it, the permissions that the person's own files have. */
export function share(target: string): void {
  const umask = process.env[variable]
  if (umask !== undefined) setModes(target, ~Number.parseInt(umask, 8))
}

/** Takes a data directory that earlier versions made away from other users. */
export function closeToOthers(dataDirectory: string): void {
  if (process.platform === 'win32') return
  if (!existsSync(dataDirectory)) return
  const own = readdirSync(dataDirectory).filter((name) => ownName.test(name))
  for (const place of own.map((name) => path.join(dataDirectory, name)))
    if (isOpen(place)) setModes(place, 0o700)
  if (isOpen(dataDirectory) && isOwnPlace(dataDirectory)) closeFolder(dataDirectory)
}

function closeFolder(folder: string): void {
  try {
    chmodSync(folder, 0o700)
  } catch {
    // The disk knows no permissions.
  }
}

/** Ours, and others may look into it. */
function isOpen(place: string): boolean {
  const status = lstatSync(place, { throwIfNoEntry: false })
  if (status === undefined || status.isSymbolicLink() || status.uid !== process.getuid?.()) return false
  return (status.mode & 0o077) !== 0
}

const ownFolders = Object.values(dataFolders('')).map((folder) => path.basename(folder))
const ownName = new RegExp(
  `^(?:${ownFolders.join('|')}|window|history\\.db.*|(?:home|python-consents|hub-ids)\\.json|python-consents\\.json\\.lock.*|outbound-requests|open-.*\\.html)$`,
)

/**
 * Returns false for a folder that is meant for more than this program: one that holds something else, or where
 * everybody may write.
 */
const isOwnPlace = (directory: string): boolean =>
  (lstatSync(directory).mode & 0o1002) === 0 && readdirSync(directory).every((name) => ownName.test(name))

/** `allowed`: bits that stay. Links are passed over, and so are files that have another name elsewhere. */
function setModes(place: string, allowed: number): void {
  try {
    const status = lstatSync(place)
    if (status.isDirectory()) {
      chmodSync(place, 0o777 & allowed)
      for (const name of readdirSync(place)) setModes(path.join(place, name), allowed)
    } else if (status.isFile() && status.nlink === 1) chmodSync(place, 0o666 & allowed)
  } catch {
    // Gone meanwhile, or on a disk that knows no permissions.
  }
}

/**
 * Opens and copies files in folders that may have come from elsewhere, such as the folder of a run that was sent. What writes there
 * follows no link, which could lead to any file of the person's; a copy holds no content from outside; and no pipe is waited for.
 */
import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { devNull } from 'node:os'
import path from 'node:path'
import { AppError, type Hint } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { attempt } from '#shared/attempt.ts'
import {
  dataFolders,
  exportsFolder,
  isDataFile,
  resolveDataDirectory,
  resourcesDirectory,
} from '#host/dataDirectory.ts'
import { dataDirectoryAbove, makeFolder } from './atomic.ts'
import { readError, reading, writeError, writing } from './fileErrors.ts'

const appending = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT
/** Undefined on Windows, where it counts as 0. */
const followsNone = constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Opens a file of ours to write, by default to its end. Errors: AppError 'file/unwritable', also where a link, a pipe or a device has
 * its name.
 */
export function openOwnFile(file: string, flags: number = appending): number {
  // Where nothing is to be kept.
  if (file !== devNull) requireOwn(file, 'file')
  return writing(file, () => openSync(file, flags | followsNone))
}

/**
 * Returns the path of an entry of a folder of ours. Ids and names also come from a history, a log or a config that somebody else may
 * have written. Errors: AppError 'file/unreadable' for a name that would lead to another folder; as `openOwnFile` for what is neither file nor folder.
 */
export function entryOf(folder: string, name: string): string {
  if (/^[^/\\\0]+$/.test(name) && name !== '.' && name !== '..') return ownEntry(path.join(folder, name))
  throw new AppError(
    'file/unreadable',
    `“${shorten(name)}” does not name anything in ${folder}.`,
    'Nothing was read or changed. If the data came from elsewhere, somebody may have altered them.',
  )
}

/** Errors: as `openOwnFile`; for a file also where it has a second name, which a hard link is. */
export function requireOwn(place: string, kind: 'file' | 'folder'): void {
  const status = statusOf(place)
  if (status === undefined || (kind === 'folder' && status.isDirectory())) return
  const isLinked = kind === 'file' && status.isFile()
  if (isLinked && status.nlink < 2) return
  const what = status.isSymbolicLink() ? 'a link' : isLinked ? 'a file with a second name' : `no ${kind}`
  throw new AppError(
    'file/unwritable',
    `${place} is ${what}, so nothing is written there.`,
    `Nothing was changed. It may have come with the folder that it is in: remove it if you did not make it, or put the ${kind} itself there${isLinked ? ', as a copy of its own' : ''}.`,
  )
}

/** Refuses a database with anything but ordinary files in its place and in those of SQLite's files beside it. Errors: as `openOwnFile`. */
export function requireOwnDatabase(file: string): void {
  for (const part of ['', '-journal', '-wal', '-shm']) requireOwn(file + part, 'file')
}

/**
 * Refuses what is neither a file nor a folder in a folder of ours. Links count only in the place of models and adapters, which are
 * read alone, and of a run that somebody put on another disk under its own name. Errors: as `openOwnFile`.
 */
function ownEntry(place: string): string {
  const status = statusOf(place)
  const isOwn = status === undefined || status.isFile() || status.isDirectory()
  if (!isOwn && !(status.isSymbolicLink() && isUsualLink(place))) requireOwn(place, 'folder')
  return place
}

function isUsualLink(place: string): boolean {
  const area = path.basename(path.dirname(place))
  if (area !== 'runs') return area === 'models' || area === 'adapters'
  return attempt(() => path.basename(realpathSync(place)), null) === path.basename(place)
}

const statusOf = (place: string): Stats | undefined =>
  writing(place, () => lstatSync(place, { throwIfNoEntry: false }))

/**
 * Makes a folder of ours, and those above it up to `root`. Errors: AppError 'file/unwritable', also where a link has the name of
 * one of them.
 */
export function makeOwnFolder(folder: string, root = folder): void {
  if (folder !== root) makeOwnFolder(path.dirname(folder), root)
  requireOwn(folder, 'folder')
  makeFolder(folder)
}

/**
 * Refuses a data directory in which a link, a pipe or a socket has the name of one of its files or folders, or of an entry of these:
 * in one from elsewhere it could lead to files of the person's, or keep whoever opens it waiting. Errors: AppError 'file/unwritable'.
 */
export function requireOwnFolders(dataDirectory: string): void {
  for (const { name } of entriesIn(dataDirectory))
    if (isDataFile(name)) requireOwn(path.join(dataDirectory, name), 'file')
  for (const folder of [...Object.values(dataFolders(dataDirectory)), exportsFolder(dataDirectory)]) {
    requireOwn(folder, 'folder')
    for (const entry of entriesIn(folder))
      if (!entry.isFile() && !entry.isDirectory()) ownEntry(path.join(folder, entry.name))
  }
}

const entriesIn = (folder: string): Dirent[] =>
  existsSync(folder) ? reading(folder, () => readdirSync(folder, { withFileTypes: true })) : []

/** Resolves the data directory as `resolveDataDirectory`, for what works in it without a host. Errors: as `requireOwnFolders`. */
export function ownDataDirectory(given: string | undefined): string {
  const dataDirectory = resolveDataDirectory(given)
  requireOwnFolders(dataDirectory)
  return dataDirectory
}

/** Adds to the end of a file of ours. Errors: as `openOwnFile`. */
export function appendToOwn(file: string, text: string, { flush = false } = {}): void {
  const handle = openOwnFile(file)
  try {
    appendWhole(file, handle, Buffer.from(text, 'utf8'))
    if (flush) fsyncSync(handle)
  } catch (error) {
    throw writeError(file, error)
  } finally {
    closeSync(handle)
  }
}

/**
 * Adds to the end of an open file of ours. A full disk may take a part: that is removed again, or what is added next would
 * be lost with it. Errors: AppError 'file/unwritable'.
 */
export function appendWhole(file: string, handle: number, bytes: Uint8Array): void {
  writing(file, () => {
    const { size } = fstatSync(handle)
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(handle, bytes, done)
    } catch (error) {
      ftruncateSync(handle, size)
      throw error
    }
  })
}

/**
 * Opens a log of lines to write to its end, without a line that a killed process left unfinished. Errors: as `openOwnFile`.
 */
export function openLineLog(file: string): number {
  const handle = openOwnFile(file)
  try {
    ftruncateSync(handle, readFileSync(handle).lastIndexOf('\n') + 1)
    return handle
  } catch (error) {
    closeSync(handle)
    throw writeError(file, error)
  }
}

/**
 * Refuses to take over what is no ordinary file, a link that leads out of a folder, and a file with a second name, which archives
 * can give to any file of the person's. Errors: AppError 'file/unreadable', by default with the advice to copy.
 */
export function requireInside(file: string, folder: string, hint: string | Hint = copyIt): void {
  try {
    const real = realpathSync(file)
    const isInside = real.startsWith(path.join(realpathSync(folder), path.sep))
    const status = statSync(real)
    if (isInside && status.isFile() && status.nlink < 2) return
    const inside = status.isFile() ? 'a file with a second name (a hard link)' : 'no ordinary file'
    throw new AppError(
      'file/unreadable',
      `${file} is ${isInside ? inside : 'a link that leads out of its folder'}, so its content is not used.`,
      hint,
    )
  } catch (error) {
    throw readError(file, error)
  }
}

const copyIt =
  'It may have come with the folder: remove it, or put the file that you mean in its place, as a copy. A copy of the whole folder (cp -r) has no second names.'

/** Advice on a file that a config names. */
export const nameIt = 'Name the file that you mean itself, or put a copy in its place.'

/**
 * Refuses a file that counts as a part of a folder as `requireInside` does. In Hugging Face's cache links lead to the blobs of the same
 * repository, and what comes with the program is ours, however it was installed. Errors: AppError 'file/unreadable'.
 */
export function requirePart(file: string, folder = folderOf(file), hint?: string | Hint): void {
  if (isPackaged(file)) return
  requireInside(file, wholeOf(folder), hint)
}

/** The folder that a file belongs to: in a data directory that of the run, data set and so on, whose folders may be links of whoever made it. */
function folderOf(file: string): string {
  const data = dataDirectoryAbove(path.resolve(file))
  const [area, entry, ...inside] =
    data === null ? [] : path.relative(data, path.resolve(file)).split(path.sep)
  if (data === null || area === undefined || entry === undefined || inside.length === 0)
    return path.dirname(file)
  return path.join(data, area, entry)
}

const isPackaged = (place: string): boolean =>
  path.resolve(place).startsWith(path.join(resourcesDirectory, path.sep))

/** A folder where it really is; of a cache the repository that it belongs to. */
function wholeOf(folder: string): string {
  const real = reading(folder, () => realpathSync(folder))
  const [, repository] = /^(.*[\\/](?:models|datasets)--[^\\/]+)[\\/]snapshots[\\/]/.exec(real) ?? []
  return repository ?? real
}

/**
 * The place of what a file in the folder `base` names. A relative path may leave that folder by its words, but not by a link on the way,
 * also not by that of a folder: whoever made the folder would choose a file that nobody named. Errors: AppError 'file/unreadable'.
 */
export function namedPlace(given: string, base: string): string {
  const place = path.resolve(base, given)
  if (path.isAbsolute(given) || isPackaged(place) || !existsSync(place)) return place
  let common = path.resolve(base)
  while (!place.startsWith(path.join(common, path.sep))) common = path.dirname(common)
  if (reading(place, () => realpathSync(place)).startsWith(path.join(wholeOf(common), path.sep))) return place
  throw new AppError(
    'file/unreadable',
    `${place} leads out of ${common} by a link, so its content is not used.`,
    'It may have come with the folder. If you mean the file that it leads to, name that by its absolute path.',
  )
}

/**
 * Writes completely or not at all: a file or folder is written under a temporary name beside its place, flushed to the
 * disk, then renamed. A reader sees the old content or the new one, also when the process is killed in between.
 */
import {
  type BigIntStats,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
  lstatSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { writeError, writing } from './fileErrors.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { share } from './permissions.ts'

let temporaryCount = 0

/** Hidden, unique among all processes, in the same folder (a rename must not cross disks). */
export function temporaryPath(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, 100)}.${process.pid}.${++temporaryCount}.partial`)
}

function syncFolder(folder: string): void {
  // Windows cannot open a folder; there the rename itself is journalled.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** A file that appears under its name only on `commit`; disposing it earlier leaves nothing behind. */
export class AtomicFile {
  readonly #path: string
  readonly #temporary: string
  #handle: number | null

  /** Errors: AppError 'file/unwritable'. */
  constructor(path: string) {
    this.#path = path
    this.#temporary = temporaryPath(path)
    this.#handle = writing(path, () => openSync(this.#temporary, 'wx'))
  }

  /** Status of the file by the file system, before it is written. */
  get status(): BigIntStats {
    if (this.#handle === null) throw new Error('Expected an open file.')
    return fstatSync(this.#handle, { bigint: true })
  }

  write(bytes: Uint8Array): void {
    const handle = this.#handle
    if (handle === null) throw new Error('Expected an open file, got one that was committed or disposed.')
    writing(this.#path, () => {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(handle, bytes, done, Math.min(bytes.length - done, 1 << 30))
      }
    })
  }

  commit(): void {
    const handle = this.#handle
    if (handle === null) throw new Error('Expected an open file, got one that was committed or disposed.')
    try {
      fsyncSync(handle)
      this.#close()
      renameSync(this.#temporary, this.#path)
      syncFolder(dirname(this.#path))
    } catch (error) {
      rmSync(this.#temporary, { force: true })
      throw writeError(this.#path, error)
    }
  }

  #close(): void {
    if (this.#handle === null) return
    closeSync(this.#handle)
    this.#handle = null
  }

  [Symbol.dispose](): void {
    if (this.#handle === null) return
    this.#close()
    rmSync(this.#temporary, { force: true })
  }
}

/** Writes a small file completely or not at all. Errors: AppError 'file/unwritable'. */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  using file = new AtomicFile(path)
  file.write(typeof content === 'string' ? Buffer.from(content, 'utf8') : content)
  file.commit()
}

/** Makes a folder and its parents. Errors: AppError 'file/unwritable'. */
export function makeFolder(path: string): void {
  writing(path, () => mkdirSync(path, { recursive: true }))
}

/** Fills a new folder that appears under its name only when it is whole. Errors: AppError 'file/unwritable'. */
export function createFolder(directory: string, fill: (temporary: string) => void): void {
  const temporary = temporaryPath(directory)
  makeFolder(dirname(directory))
  try {
    mkdirSync(temporary)
    fill(temporary)
    renameSync(temporary, directory)
    syncFolder(dirname(directory))
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    throw writeError(directory, error)
  }
}

/**
 * Removes a folder, which is gone at once: one whose removal is interrupted has a hidden name. Does nothing where there
 * is none. Errors: AppError 'file/unwritable'.
 */
export function removeFolder(directory: string): void {
  const removed = join(dirname(directory), `.${basename(directory)}.removed`)
  writing(directory, () => {
    rmSync(removed, { recursive: true, force: true })
    if (lstatSync(directory, { throwIfNoEntry: false }) !== undefined) renameSync(directory, removed)
    rmSync(removed, { recursive: true, force: true })
  })
}

/** Path of the former content while a folder is replaced. */
const previousPath = (directory: string): string =>
  join(dirname(directory), `.${basename(directory)}.previous`)

/** Puts the former folder back if a process died between the two renames of `replaceFolder`. */
export function recoverFolder(directory: string): void {
  const previous = previousPath(directory)
  if (existsSync(directory) || !existsSync(previous)) return
  writing(directory, () => renameSync(previous, directory))
}

/**
 * Fills a new folder and puts it in the place of `directory`, whose former content is removed only after that.
 * Errors: AppError 'file/unwritable'; then the former content is still there.
 */
export async function replaceFolder(
  directory: string,
  fill: (temporary: string) => void | Promise<void>,
): Promise<void> {
  const temporary = temporaryPath(directory)
  makeFolder(dirname(directory))
  try {
    recoverFolder(directory)
    mkdirSync(temporary)
    await fill(temporary)
    swapIn(temporary, directory)
    syncFolder(dirname(directory))
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    throw writeError(directory, error)
  }
}

function swapIn(temporary: string, directory: string): void {
  const previous = previousPath(directory)
  rmSync(previous, { recursive: true, force: true })
  if (existsSync(directory)) renameSync(directory, previous)
  try {
    renameSync(temporary, directory)
  } catch (error) {
    recoverFolder(directory)
    throw error
  }
  rmSync(previous, { recursive: true, force: true })
}

// Files whose place a person chose.

export interface UserFileOptions {
  /** True to replace an existing file. */
  readonly overwrite: boolean
}

/**
 * Refuses a place in a data directory but in its `exports`: what is written elsewhere there would count as the program's own. Errors:
 * AppError 'file/unwritable'.
 */
export function requireOutsideData(place: string): void {
  const real = realPlace(resolve(place))
  const folder = dataDirectoryAbove(real)
  if (folder === null || real.startsWith(join(folder, 'exports', sep))) return
  throw new AppError(
    'file/unwritable',
    `${place} is in the data directory ${folder}, which is for what Turnwise keeps itself.`,
    'Nothing was written. Choose a place outside of it, or in its folder “exports”.',
  )
}

/** Resolves the links in a path, of which the end need not exist. */
function realPlace(place: string): string {
  if (existsSync(place) || place === dirname(place)) return writing(place, () => realpathSync(place))
  return join(realPlace(dirname(place)), basename(place))
}

/** Finds the data directory that a path leads through by its words; null: none. */
export function dataDirectoryAbove(place: string): string | null {
  const folder = dirname(place)
  if (folder === place) return null
  return isDataDirectory(folder) ? folder : dataDirectoryAbove(folder)
}

/** Recognized by the history with a folder beside it: other programs have a history.db too. */
const isDataDirectory = (folder: string): boolean =>
  existsSync(join(folder, 'history.db')) &&
  Object.values(dataFolders(folder)).some((each) => existsSync(each))

/**
 * Writes a file completely or not at all. Errors: AppError 'file/exists' where one exists that may not be replaced;
 * 'file/unwritable', also for what is not an ordinary file, and as `requireOutsideData`.
 */
export function writeUserFile(file: string, content: string | Uint8Array, options: UserFileOptions): void {
  requireFree(file, options)
  writeFileAtomic(file, content)
  share(file)
}

/** Errors: as `writeUserFile`. To be asked before long work too. */
export function requireFree(file: string, { overwrite }: UserFileOptions): void {
  requireOutsideData(file)
  const status = lstatSync(file, { throwIfNoEntry: false })
  if (status === undefined) return
  // Renaming would replace a link, a pipe or a device by the file itself.
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
    `${file} already exists.`,
    'Nothing was changed. Choose another name, or allow overwriting.',
  )
}

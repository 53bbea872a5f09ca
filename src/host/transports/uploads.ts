/**
 * Files uploaded by a browser, streamed to `uploads/<upload id>/<name>` and referred to by that id until they are
 * imported or discarded. The files of a folder arrive one by one under one id and keep their relative paths.
 */
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { AppError, refusal } from '#shared/errors.ts'
import { entryOf, makeOwnFolder, requireInside } from '#host/files/ownFiles.ts'
import { writeError } from '#host/files/fileErrors.ts'

export interface Upload {
  readonly uploadId: string
  /** The file's name, without what could be trouble on a disk; of a folder's file its path in the folder. */
  readonly name: string
  readonly sizeBytes: number
}

/** Bytes left free on the disk for everything else. */
const reservedBytes = 1024 ** 3

const idPattern = /^upl_[0-9a-f-]{36}$/

export interface UploadRequest {
  readonly directory: string
  readonly name: string
  /** `new` for the first file of a folder, the id of the upload for the others; null: a file of its own. */
  readonly into: string | null
  /** null where the sender did not say. */
  readonly sizeBytes: number | null
  /** Limit below what the disk allows. */
  readonly limitBytes: number
}

/**
 * Errors: AppError 'api/refused' for a file that is too large, 'api/invalid' for a name that is no path in a folder,
 * 'file/unreadable' where the upload is gone, 'file/unwritable'; nothing of the file is left behind then.
 */
export async function receiveUpload(
  request: UploadRequest,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Upload> {
  const { directory, into } = request
  const name = into === null ? safeName(request.name) : placeInFolder(request.name)
  const isNew = into === null || into === 'new'
  const uploadId = isNew ? `upl_${randomUUIDv7()}` : into
  const folder = uploadFolder(directory, uploadId)
  if (!isNew && !existsSync(folder)) throw gone()
  makeOwnFolder(folder)
  const partial = path.join(folder, `.partial-${randomUUID()}`)
  try {
    const limit = Math.min(request.limitBytes, await freeBytes(folder))
    if ((request.sizeBytes ?? 0) > limit) throw tooLarge(limit)
    const sizeBytes = await writeChunks(partial, chunks, limit)
    makeOwnFolder(path.dirname(path.join(folder, name)), folder)
    await rename(partial, path.join(folder, name))
    return { uploadId, name, sizeBytes }
  } catch (error) {
    await rm(isNew ? folder : partial, { recursive: true, force: true })
    throw writeError(folder, error)
  }
}

async function writeChunks(file: string, chunks: AsyncIterable<Uint8Array>, limit: number): Promise<number> {
  await using handle = await open(file, 'wx', 0o600)
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    await handle.writeFile(chunk)
  }
  await handle.sync()
  return size
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return Math.max(0, bavail * bsize - reservedBytes)
}

/** Path of an uploaded file. Errors: AppError 'file/unreadable' when there is no such upload (any more), or a link in its place. */
export async function findUpload(directory: string, uploadId: string): Promise<string> {
  const folder = uploadFolder(directory, uploadId)
  const [name] = await namesIn(folder)
  if (name === undefined) throw gone()
  const file = path.join(folder, name)
  requireInside(file, folder)
  return file
}

/** Finds the folder of an upload's files. Errors: AppError 'file/unreadable' when it is not there (any more). */
export function findUploadFolder(directory: string, uploadId: string): string {
  const folder = uploadFolder(directory, uploadId)
  if (existsSync(folder)) return folder
  throw gone()
}

/** Path of an uploaded folder: where all files lie in one folder, that one. Errors: as `findUpload`. */
export async function findUploadedFolder(directory: string, uploadId: string): Promise<string> {
  const folder = uploadFolder(directory, uploadId)
  const [name, ...others] = await namesIn(folder)
  if (name === undefined) throw gone()
  const only = path.join(folder, name)
  return others.length === 0 && (await lstat(only)).isDirectory() ? only : folder
}

/** Lists the files of an upload without those that are still coming. */
const namesIn = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => !name.startsWith('.'))
}

const gone = (): AppError =>
  new AppError('file/unreadable', 'The uploaded file no longer exists.', 'Add it again.')

export async function discardUpload(directory: string, uploadId: string): Promise<void> {
  await rm(uploadFolder(directory, uploadId), { recursive: true, force: true })
}

/** Lists uploads of one whole file, newest first. */
export async function listUploads(directory: string): Promise<Upload[]> {
  const ids = (await readdir(directory).catch(() => [])).filter((each) => idPattern.test(each))
  const all = await Promise.all(
    ids.toSorted().map(async (uploadId) => {
      const [name, ...others] = await namesIn(path.join(directory, uploadId))
      if (name === undefined || others.length > 0) return []
      const status = await lstat(path.join(directory, uploadId, name)).catch(() => null)
      return status?.isFile() === true ? [{ uploadId, name, sizeBytes: status.size }] : []
    }),
  )
  return all.flat().toReversed()
}

/** Removes uploads that were abandoned. */
export async function discardOldUploads(directory: string, olderThanMs: number): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  const before = Date.now() - olderThanMs
  for (const name of names.filter((each) => idPattern.test(each))) {
    const status = await stat(path.join(directory, name)).catch(() => null)
    if (status !== null && status.mtimeMs < before) await discardUpload(directory, name)
  }
}

function uploadFolder(directory: string, uploadId: string): string {
  if (idPattern.test(uploadId)) return entryOf(directory, uploadId)
  throw new AppError('api/invalid', 'That is not the id of an upload.')
}

/** Last part of the name, letters, digits and a few signs; its ending tells the format, so it is kept. */
function safeName(given: string): string {
  const base = given.split(/[\\/]/).at(-1) ?? ''
  const clean = base.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^[. ]+/, '')
  const ending = path.extname(clean).slice(0, 20)
  return `${path.basename(clean, path.extname(clean)).slice(0, 60) || 'upload'}${ending}`
}

const placeForm = /^[\p{L}\p{N}_](?:[\p{L}\p{N}._ -]{0,98}[\p{L}\p{N}_-])?$/u
const deepest = 5

/** Names of a folder's files mean something, so that they are taken as they are or not at all. Errors: AppError 'api/invalid'. */
function placeInFolder(given: string): string {
  const parts = given.split('/')
  if (parts.length <= deepest && parts.every((part) => placeForm.test(part))) return path.join(...parts)
  throw new AppError('api/invalid', `“${given.slice(0, 200)}” is not a valid file name.`)
}

const tooLarge = (limit: number): AppError =>
  refusal(
    `The file is larger than the ${(limit / 1024 ** 2).toFixed(limit < 1024 ** 2 ? 3 : 0)} MiB allowed.`,
    'Free some space, or pass the path of the file on the host’s machine.',
  )

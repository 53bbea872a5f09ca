/**
 * Files of one commit, brought into a folder one by one. What was fetched before is kept: a file that is whole is not
 * asked for again, one that is not goes on where it ended. Every file is compared with the digest that the hub states.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { makeFolder } from '../atomic.ts'
import { writeError } from '../fileErrors.ts'
import { kindWords, type HubPlace } from './address.ts'
import { asked, invalid, openFile, type HubCommit, type HubFile } from './hub.ts'

export interface HubProgress {
  readonly doneBytes: number
  readonly totalBytes: number
}

/** Left free on the disk for everything else. */
const reservedBytes = 1024 ** 3

/**
 * Yields how far it is. Errors: those of asking the hub; AppError 'model/invalid' or 'data/invalid' where it sends other
 * bytes than it states; 'file/unwritable', also where the disk is too small: nothing was fetched then.
 */
export async function* fetchFiles(
  commit: HubCommit,
  files: readonly HubFile[],
  folder: string,
): AsyncGenerator<HubProgress> {
  for (const file of files) requireSafe(commit.place, file)
  makeFolder(folder)
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0)
  await requireSpace(commit.place, folder, totalBytes - (await sizeOf(folder, files)))
  let before = 0
  for (const file of files) {
    for await (const bytes of fetchFile(commit, file, folder)) {
      yield { doneBytes: before + bytes, totalBytes }
    }
    before += file.size
    yield { doneBytes: before, totalBytes }
  }
}

/** A name that stays in the folder on every system. */
function requireSafe(place: HubPlace, { path: name }: HubFile): void {
  const isSafe = (part: string) => /^[^.\\:\p{Cc}][^\\:\p{Cc}]{0,199}$/u.test(part)
  if (name.split('/').every(isSafe)) return
  throw invalid(place, `${place.repo} has a file whose name cannot be kept: “${name.slice(0, 200)}”.`)
}

async function sizeOf(folder: string, files: readonly HubFile[]): Promise<number> {
  const sizes = await Promise.all(
    files.flatMap(({ path: file }) => [file, `${file}.part`].map((name) => sizeAt(path.join(folder, name)))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const sizeAt = async (file: string): Promise<number> => (await stat(file).catch(() => null))?.size ?? 0

async function requireSpace({ kind }: HubPlace, folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize - reservedBytes
  if (bytes <= free) return
  throw new AppError(
    'file/unwritable',
    `The ${kindWords[kind]} needs ${(bytes / 1e9).toFixed(1)} GB more, and the disk has ${(Math.max(0, free) / 1e9).toFixed(1)} GB to give.`,
    `Free some space, or choose a smaller ${kindWords[kind]}; nothing was fetched.`,
  )
}

/** Yields the bytes of it that are there. */
async function* fetchFile(commit: HubCommit, file: HubFile, folder: string): AsyncGenerator<number> {
  const { place } = commit
  const target = path.join(folder, file.path)
  const part = `${target}.part`
  if ((await sizeAt(target)) === file.size && (await isAsStated(target, file))) return
  makeFolder(path.dirname(target))
  let size = await sizeAt(part)
  if (size > file.size) {
    await rm(part)
    size = 0
  }
  const blob = await openFile(commit, file.path)
  if (size < file.size) {
    await using handle = await open(part, 'a').catch((error: unknown) => {
      throw writeError(part, error)
    })
    for await (const chunk of contentOf(place, blob.slice(size))) {
      await handle.writeFile(chunk).catch((error: unknown) => {
        throw writeError(part, error)
      })
      size += chunk.byteLength
      yield size
    }
    await handle.sync()
  } else if (size === 0) await (await open(part, 'a')).close()
  if (!(await isAsStated(part, file))) {
    await rm(part)
    throw invalid(
      place,
      `${file.path} of ${place.repo} came with other bytes than the hub states.`,
      `It was removed; fetch the ${kindWords[place.kind]} again.`,
    )
  }
  await rename(part, target)
}

/** Large files by SHA-256, the others as git names them: SHA-1 over a header and the content. */
async function isAsStated(file: string, { oid, lfs, size }: HubFile): Promise<boolean> {
  if ((await sizeAt(file)) !== size) return false
  const hash = createHash(lfs === undefined ? 'sha1' : 'sha256')
  if (lfs === undefined) hash.update(`blob ${size}\0`)
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex') === (lfs?.oid ?? oid)
}

/** A connection may be lost in the middle too. */
async function* contentOf(place: HubPlace, blob: Blob): AsyncGenerator<Uint8Array> {
  const reader = (blob.stream() as ReadableStream<Uint8Array>).getReader()
  for (;;) {
    const { done, value } = await asked(place, () => reader.read())
    if (done) return
    yield value
  }
}

/**
 * Files of one commit, brought into a folder one by one. What was fetched before is kept: a file that is whole is not
 * asked for again, one that is not goes on where it ended. Every file is compared with the digest that the hub states.
 */
import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import path from 'node:path'
import { download, requireSpace, sizeAt } from '#host/files/download.ts'
import { writing } from '#host/files/fileErrors.ts'
import { makeOwnFolder, requireOwn } from '#host/files/ownFiles.ts'
import { kindWords, type HubPlace, asked, invalid, openFile, type HubCommit, type HubFile } from './hub.ts'

export interface HubProgress {
  readonly doneBytes: number
  readonly totalBytes: number
}

/**
 * Yields how far it is, and leaves nothing in the folder but these files: what else lay there, whoever put it, would be taken for a part
 * of the download. Errors: those of asking the hub; AppError 'model/invalid' or 'data/invalid' where it sends other
 * bytes than it states; 'file/unwritable', also where the disk is too small: nothing was fetched then.
 */
export async function* fetchFiles(
  commit: HubCommit,
  files: readonly HubFile[],
  folder: string,
): AsyncGenerator<HubProgress> {
  for (const file of files) requireSafe(commit.place, file)
  makeOwnFolder(folder)
  keepOnly(folder, new Set(files.flatMap(({ path: file }) => [file, partOf(file)])))
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0)
  await requireRoom(commit.place, folder, totalBytes - (await sizeOf(folder, files)))
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
  throw invalid(place, `${place.repo} has a file whose name cannot be used: “${name.slice(0, 200)}”.`)
}

const partOf = (file: string): string => `${file}.part`

/** Removes what is not listed from a folder. Anything in the place of a listed file or of its folder stays, to be refused by name. */
function keepOnly(folder: string, listed: ReadonlySet<string>, inside = ''): void {
  writing(folder, () => {
    for (const entry of readdirSync(path.join(folder, inside), { withFileTypes: true })) {
      const name = `${inside}${entry.name}`
      if (listed.has(name)) continue
      const isAbove = [...listed].some((file) => file.startsWith(`${name}/`))
      if (!isAbove) rmSync(path.join(folder, name), { recursive: true, force: true })
      else if (entry.isDirectory()) keepOnly(folder, listed, `${name}/`)
    }
  })
}

async function sizeOf(folder: string, files: readonly HubFile[]): Promise<number> {
  const sizes = await Promise.all(
    files.flatMap(({ path: file }) => [file, partOf(file)].map((name) => sizeAt(path.join(folder, name)))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

async function requireRoom({ kind }: HubPlace, folder: string, bytes: number): Promise<void> {
  const what = kindWords[kind]
  await requireSpace(folder, { bytes, what: `The ${what}`, advice: `choose a smaller ${what}` })
}

/** Yields the bytes of it that are there. */
async function* fetchFile(commit: HubCommit, file: HubFile, folder: string): AsyncGenerator<number> {
  const { place } = commit
  const target = path.join(folder, file.path)
  requireOwn(target, 'file')
  if ((await sizeAt(target)) === file.size && (await isAsStated(target, file))) return
  makeOwnFolder(path.dirname(target), folder)
  const blob = await openFile(commit, file.path)
  yield* download({
    part: partOf(target),
    sizeBytes: file.size,
    from: (start) => contentOf(place, blob.slice(start)),
    async accept(part) {
      if (!(await isAsStated(part, file))) return false
      await rename(part, target)
      return true
    },
    refusal: () =>
      invalid(
        place,
        `${file.path} of ${place.repo} does not have the digest that the hub states.`,
        `It was removed; download the ${kindWords[place.kind]} again.`,
      ),
  })
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

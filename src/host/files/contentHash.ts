import { createHash } from 'node:crypto'
import { closeSync, createReadStream, existsSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, writeFileAtomic } from './atomic.ts'
import { readError, reading } from './fileErrors.ts'
import { isJsonObject, parseStrictJson, readSmallFile, regularFileSize } from './strictJson.ts'

interface RememberedHash {
  readonly size: number
  readonly modifiedAt: number
  readonly sha256: string
}

const fileName = 'hashes.json'
const maxRemembered = 1_000
const maxBytes = 4 * 1024 * 1024

interface HashOptions {
  readonly onProgress?: (readBytes: number, totalBytes: number) => void
  /** Aborted where nobody waits any more: rejects, and nothing is written afterwards. */
  readonly signal?: AbortSignal
}

/**
 * SHA-256 of each file, in hex. A hash is remembered in `cacheDirectory` by path, size and time of change, so that
 * a large model is read only once. Errors: AppError 'file/unreadable'.
 */
export async function hashFiles(
  files: readonly string[],
  cacheDirectory: string,
  { onProgress, signal }: HashOptions = {},
): Promise<string[]> {
  const memory = recall(cacheDirectory)
  const stats = files.map((file) => statOf(file))
  const totalBytes = stats.reduce((sum, { size }) => sum + size, 0)
  const hashes: string[] = []
  let doneBytes = 0
  for (const [index, file] of files.entries()) {
    const { size, modifiedAt } = stats[index] ?? statOf(file)
    const known = memory.get(file)
    const isKnown = known?.size === size && known.modifiedAt === modifiedAt
    const before = doneBytes
    const sha256 = isKnown
      ? known.sha256
      : await hashFile(file, (bytes) => {
          signal?.throwIfAborted()
          onProgress?.(before + bytes, totalBytes)
        })
    signal?.throwIfAborted()
    // Re-inserted at the end: the map's order is the order of last use.
    memory.delete(file)
    memory.set(file, { size, modifiedAt, sha256 })
    hashes.push(sha256)
    doneBytes += size
  }
  const kept = [...memory].slice(-maxRemembered)
  makeFolder(cacheDirectory)
  writeFileAtomic(join(cacheDirectory, fileName), `${JSON.stringify(Object.fromEntries(kept))}\n`)
  return hashes
}

const statOf = (file: string): { size: number; modifiedAt: number } =>
  reading(file, () => {
    const { size, mtimeMs } = statSync(file)
    return { size, modifiedAt: mtimeMs }
  })

async function hashFile(file: string, onProgress: (readBytes: number) => void): Promise<string> {
  const hash = createHash('sha256')
  let readBytes = 0
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 1 << 22 }) as AsyncIterable<Buffer>) {
      hash.update(piece)
      readBytes += piece.length
      onProgress(readBytes)
    }
  } catch (error) {
    throw readError(file, error)
  }
  return hash.digest('hex')
}

/** Reads the remembered hashes; a broken file is forgotten, since everything in it can be computed again. */
function recall(cacheDirectory: string): Map<string, RememberedHash> {
  const path = join(cacheDirectory, fileName)
  if (!existsSync(path)) return new Map()
  let document: unknown
  try {
    document = parseStrictJson(readSmallFile(path, maxBytes))
  } catch {
    return new Map()
  }
  if (!isJsonObject(document)) return new Map()
  return new Map(
    Object.entries(document).filter((entry): entry is [string, RememberedHash] => isRemembered(entry[1])),
  )
}

const isRemembered = (value: unknown): value is RememberedHash =>
  isJsonObject(value) &&
  typeof value.size === 'number' &&
  typeof value.modifiedAt === 'number' &&
  typeof value.sha256 === 'string' &&
  /^[0-9a-f]{64}$/.test(value.sha256)

const pieceBytes = 1 << 22

/** Digests a file in pieces: the copy of a model can be larger than what fits into one buffer. Errors: AppError 'file/unreadable'. */
export function sha256Of(file: string): string {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(Math.max(1, Math.min(pieceBytes, regularFileSize(file))))
  reading(file, () => {
    const handle = openSync(file, 'r')
    try {
      for (let read = readSync(handle, piece); read > 0; read = readSync(handle, piece)) {
        hash.update(piece.subarray(0, read))
      }
    } finally {
      closeSync(handle)
    }
  })
  return hash.digest('hex')
}

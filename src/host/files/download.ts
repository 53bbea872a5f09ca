/** Large files brought here piece by piece: what came before a break is kept, and the rest is asked for. */
import { open, rm, stat, statfs } from 'node:fs/promises'
import { AppError } from '#shared/errors.ts'
import { writeError } from './fileErrors.ts'
import { requireOwn } from './ownFiles.ts'

export interface Download {
  /** Path of the file until it is complete. */
  readonly part: string
  readonly sizeBytes: number
  /** Returns its bytes from this offset on. */
  readonly from: (start: number) => AsyncIterable<Uint8Array>
  /** Checks the downloaded file and moves it into place; returns false if it is not the file that was meant. */
  readonly accept: (part: string) => Promise<boolean>
  readonly refusal: () => AppError
}

/**
 * Downloads a file and yields the number of bytes so far. Errors: those of `from` and `accept`; `refusal`, after which
 * nothing of it is left; AppError 'file/unwritable'.
 */
export async function* download({
  part,
  sizeBytes,
  from,
  accept,
  refusal,
}: Download): AsyncGenerator<number> {
  requireOwn(part, 'file')
  let size = await sizeAt(part)
  if (size > sizeBytes) {
    await rm(part)
    size = 0
  }
  if (size < sizeBytes || size === 0) {
    await using handle = await open(part, 'a').catch((error: unknown) => {
      throw writeError(part, error)
    })
    for await (const chunk of size < sizeBytes ? from(size) : []) {
      await handle.writeFile(chunk).catch((error: unknown) => {
        throw writeError(part, error)
      })
      size += chunk.byteLength
      yield Math.min(size, sizeBytes)
      if (size > sizeBytes) break
    }
    await handle.sync()
  }
  if (await accept(part)) return
  await rm(part, { force: true })
  throw refusal()
}

export const sizeAt = async (file: string): Promise<number> => (await stat(file).catch(() => null))?.size ?? 0

/** Bytes left free on the disk for everything else. */
const reservedBytes = 1024 ** 3

export interface SpaceRequest {
  readonly bytes: number
  /** Beginning of the sentence: “The model”. */
  readonly what: string
  /** Alternative to freeing some space. */
  readonly advice: string
}

/** Errors: AppError 'file/unwritable' where the folder's disk has not so much to give. */
export async function requireSpace(folder: string, { bytes, what, advice }: SpaceRequest): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize - reservedBytes
  if (bytes <= free) return
  throw new AppError(
    'file/unwritable',
    `${what} needs ${(bytes / 1e9).toFixed(1)} GB more, and the disk has ${(Math.max(0, free) / 1e9).toFixed(1)} GB free.`,
    `Free some space, or ${advice}; nothing was downloaded.`,
  )
}

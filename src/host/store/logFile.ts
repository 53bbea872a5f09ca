/** Reads a growing log piece by piece: whole lines only. */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import { readError, systemCode } from '#host/files/fileErrors.ts'
import { regularFileSize } from '#host/files/strictJson.ts'

/** How far a log has been read. */
export interface LogPosition {
  /** Bytes. */
  readonly offset: number
  /** Digest of the last bytes before it; '' at the start. */
  readonly tail: string
}

export interface LogPiece {
  readonly lines: readonly string[]
  readonly end: LogPosition
}

export const logStart: LogPosition = { offset: 0, tail: '' }

/** Enough that another log does not end so by chance: every line has its own time. */
const tailBytes = 512

/**
 * The lines after a position, about `maxBytes` of them and at least one; null where there is none yet or no file.
 * 'replaced' where the file does not hold what was read before. Errors: AppError 'file/unreadable'.
 */
export function readPiece(file: string, from: LogPosition, maxBytes: number): LogPiece | 'replaced' | null {
  const handle = open(file)
  if (handle === null) return null
  try {
    const { size } = fstatSync(handle)
    if (size < from.offset || tailOf(handle, from.offset) !== from.tail) return 'replaced'
    const bytes = wholeLines(handle, from.offset, size, maxBytes)
    if (bytes.length === 0) return null
    const offset = from.offset + bytes.length
    const lines = bytes.toString('utf8', 0, bytes.length - 1).split('\n')
    return { lines, end: { offset, tail: tailOf(handle, offset) } }
  } catch (error) {
    throw readError(file, error)
  } finally {
    closeSync(handle)
  }
}

function open(file: string): number | null {
  try {
    regularFileSize(file)
    return openSync(file, 'r')
  } catch (error) {
    // Not asked of the file system a second time: the log may have been begun between the two questions.
    const isMissing = systemCode(error instanceof AppError ? error.cause : error) === 'ENOENT'
    if (isMissing) return null
    throw readError(file, error)
  }
}

/** Up to the last line end within `maxBytes`; farther where a single line is longer. */
function wholeLines(handle: number, offset: number, size: number, maxBytes: number): Buffer {
  for (let length = Math.min(maxBytes, size - offset); ; length = Math.min(length * 2, size - offset)) {
    const bytes = readBytes(handle, offset, length)
    const end = bytes.lastIndexOf(0x0a) + 1
    if (end > 0 || offset + length >= size) return bytes.subarray(0, end)
  }
}

function tailOf(handle: number, offset: number): string {
  if (offset === 0) return ''
  const length = Math.min(tailBytes, offset)
  return createHash('sha256')
    .update(readBytes(handle, offset - length, length))
    .digest('base64')
}

function readBytes(handle: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(handle, bytes, filled, length - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

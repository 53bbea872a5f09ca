/** Log of long work: a JSON document in each line. A line without an end is one whose process was killed. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { readError, reading, systemCode } from '#host/files/fileErrors.ts'
import { openLineLog, requireInside } from '#host/files/ownFiles.ts'

const newline = 0x0a
const pieceBytes = 1 << 20
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the documents of the whole lines. `onDamaged` is called with the number of a line that holds no such document,
 * which is passed over unless it throws. Errors: AppError 'file/unreadable'; those of `onDamaged`.
 */
export function readLines<Line>(
  file: string,
  schema: z.ZodType<Line>,
  onDamaged: (number: number) => void,
): Line[] {
  const documents: Line[] = []
  let number = 0
  for (const line of wholeLines(file)) {
    number++
    const { data } = schema.safeParse(documentIn(line))
    if (data === undefined) onDamaged(number)
    else documents.push(data)
  }
  return documents
}

const documentIn = (line: Uint8Array): unknown =>
  attempt(() => JSON.parse(utf8.decode(line)) as unknown, undefined)

/** Removes a last line without an end, which the next would go on with. Errors: AppError 'file/unwritable'. */
export function dropTornLine(file: string): void {
  if (existsSync(file)) closeSync(openLineLog(file))
}

/** Opens a log to read it; null where there is none. Errors: AppError 'file/unreadable'. */
export function openLog(file: string): number | null {
  try {
    requireInside(file, path.dirname(file))
    return openSync(file, 'r')
  } catch (error) {
    // Not asked of the file system a second time: the log may have been begun, or removed, between the two questions.
    const isMissing = systemCode(error instanceof AppError ? error.cause : error) === 'ENOENT'
    if (isMissing) return null
    throw readError(file, error)
  }
}

/**
 * Yields the lines that have an end, from a byte on; none where there is no file. It is read in pieces. Errors: AppError
 * 'file/unreadable'.
 */
export function* wholeLines(file: string, from = 0): Generator<Buffer> {
  const handle = openLog(file)
  if (handle === null) return
  try {
    let rest: Buffer = Buffer.alloc(0)
    for (let at = from; ;) {
      const piece = Buffer.alloc(Math.min(pieceBytes, Math.max(1, fstatSync(handle).size - at)))
      const count = reading(file, () => readSync(handle, piece, 0, piece.length, at))
      if (count === 0) return
      at += count
      const lines = splitLines(Buffer.concat([rest, piece.subarray(0, count)]))
      yield* lines.whole
      rest = lines.rest
    }
  } finally {
    closeSync(handle)
  }
}

function splitLines(bytes: Buffer): { readonly whole: Buffer[]; readonly rest: Buffer } {
  const whole: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
    whole.push(bytes.subarray(start, end))
    start = end + 1
  }
  return { whole, rest: bytes.subarray(start) }
}

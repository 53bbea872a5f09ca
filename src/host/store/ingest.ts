/**
 * Ingests a run's log into the history, each event exactly once: a chunk of the log and the position after it are
 * written in one transaction, which first checks whether another process has already done so.
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, readSync } from 'node:fs'
import { readError } from '#host/files/fileErrors.ts'
import { openLog } from '#host/workFolder/lineLog.ts'
import type { Connection } from './connection.ts'
import type { StoredEvent, NamesTable } from './names.ts'
import { emptyHistory, HistoryWriter, type HistoryState } from './history.ts'

/** Bytes of a log that are recorded at once; other processes may write between. */
const pieceBytes = 4 << 20

type Cursor = LogPosition & HistoryState

export class Ingestion {
  readonly #db: Connection
  readonly #names: NamesTable

  constructor(db: Connection, names: NamesTable) {
    this.#db = db
    this.#names = names
  }

  /** Records what is new in the log of a run, and returns it, token arrays left out. */
  ingest(run: number, file: string): StoredEvent[] {
    const added: StoredEvent[] = []
    for (;;) {
      const cursor = this.#cursor(run)
      const piece = readPiece(file, cursor, pieceBytes)
      if (piece === null) return added
      const events = this.#attempt(() => this.#take(run, cursor, piece))
      for (const event of events) added.push(event)
    }
  }

  /** Returns the events recorded: none where another process recorded them meanwhile. */
  #take(run: number, cursor: Cursor, piece: LogPiece | 'replaced'): readonly StoredEvent[] {
    return this.#db.write(() => {
      const current = this.#cursor(run)
      if (current.offset !== cursor.offset || current.tail !== cursor.tail) return []
      const history = new HistoryWriter(this.#db, this.#names, run, current)
      if (piece === 'replaced') history.restart()
      else for (const line of piece.lines) history.add(line)
      const { state, events } = history.finish()
      const damaged = piece === 'replaced' ? 0 : state.damaged
      this.#move(run, { ...state, damaged, ...(piece === 'replaced' ? logStart : piece.end) })
      return events
    })
  }

  #attempt<T>(action: () => T): T {
    try {
      return action()
    } catch (error) {
      this.#names.forget()
      throw error
    }
  }

  #cursor(run: number): Cursor {
    const query = this.#db.query<Cursor>(
      'SELECT offset, tail, seq, rewinds, damaged FROM log_cursors WHERE run = ?',
    )
    return query.get(run) ?? { ...logStart, ...emptyHistory }
  }

  #move(run: number, { offset, tail, seq, rewinds, damaged }: Cursor): void {
    this.#db.run(
      'INSERT OR REPLACE INTO log_cursors (run, offset, tail, seq, rewinds, damaged) VALUES (?, ?, ?, ?, ?, ?)',
      ...[run, offset, tail, seq, rewinds, damaged],
    )
  }
}

/* Reads a growing log piece by piece: whole lines only. */

/** Position up to which a log has been read. */
interface LogPosition {
  /** Bytes. */
  readonly offset: number
  /** Digest of the last bytes before it; '' at the start. */
  readonly tail: string
}

interface LogPiece {
  readonly lines: readonly string[]
  readonly end: LogPosition
}

const logStart: LogPosition = { offset: 0, tail: '' }

/**
 * Bytes at the end of a log that identify it: enough that another log does not end so by chance, since every line has
 * its own time.
 */
const tailBytes = 512

/**
 * Reads the lines after a position, about `maxBytes` of them and at least one; null where there is none yet or no file.
 * 'replaced' where the file no longer holds what was read before. Errors: AppError 'file/unreadable'.
 */
function readPiece(file: string, from: LogPosition, maxBytes: number): LogPiece | 'replaced' | null {
  const handle = openLog(file)
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

/** Reads up to the last line end within `maxBytes`; farther where a single line is longer. */
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

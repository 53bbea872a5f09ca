/**
 * Takes a run's log into the history, each event once: a piece of the log and the position after it are written in one
 * transaction, which begins by looking whether another process was there first.
 */
import type { Connection } from './connection.ts'
import type { StoredEvent } from './events.ts'
import { emptyHistory, HistoryWriter, type HistoryState } from './history.ts'
import { logStart, readPiece, type LogPiece, type LogPosition } from './logFile.ts'
import type { NamesTable } from './names.ts'

/** So much of a log is recorded at once; others may write between. */
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
      if (piece === 'replaced') history.rewind(0)
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

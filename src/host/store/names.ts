/** Maps names of metrics and reward functions to numbers, so that each text is stored once. */
import type { Connection } from './connection.ts'
import type { LoggedEvent } from '#host/workFolder/eventLog.ts'

export class NamesTable {
  readonly #db: Connection
  readonly #keys = new Map<string, number>()

  constructor(db: Connection) {
    this.#db = db
  }

  /** The number of a name, given one where it has none. Within a transaction that may be undone, call `forget` then. */
  keyOf(given: string): number {
    // SQLite writes half a surrogate pair down as U+FFFD: asked for as it was, it would not be found again.
    const name = given.toWellFormed()
    const known = this.#keys.get(name) ?? this.find(name)
    if (known !== null) return known
    const { key } = this.#db.run('INSERT INTO names (name) VALUES (?)', name)
    this.#keys.set(name, key)
    return key
  }

  /** Returns the number of a name, or null where nothing has it. */
  find(name: string): number | null {
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const row = this.#db.query<{ readonly key: number }>('SELECT key FROM names WHERE name = ?').get(name)
    if (!row) return null
    this.#keys.set(name, row.key)
    return row.key
  }

  /** Numbers given in a transaction that was undone mean nothing. */
  forget(): void {
    this.#keys.clear()
  }
}

// Events of a run besides steps, evaluations and samples, which have tables of their own.

/** A log line that could not be read is an event of type `damaged-line`. */
export interface StoredEvent {
  /** Grows with every event stored: where a follower goes on. */
  readonly id: number
  /** Number of the event in the history. */
  readonly seq: number
  readonly event: LoggedEvent
}

interface EventsRequest {
  /** `id` of the last event seen. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

export class EventsTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** Lists events in the order in which they were stored. */
  list(runId: string, { after, limit }: EventsRequest = {}): StoredEvent[] {
    const query = this.#db.query<{ readonly id: number; readonly seq: number; readonly body: string }>(
      `SELECT id, seq, body FROM events WHERE run = (SELECT key FROM runs WHERE id = ?) AND id > ?
       ORDER BY id LIMIT ?`,
    )
    return query
      .all(runId, after ?? 0, limit ?? -1)
      .map(({ id, seq, body }) => ({ id, seq, event: this.#db.parse(body) as LoggedEvent }))
  }

  /** Returns the last event of a type. */
  last(runId: string, type: string): LoggedEvent | null {
    const query = this.#db.query<{ readonly body: string }>(
      `SELECT body FROM events WHERE run = (SELECT key FROM runs WHERE id = ?) AND type = ?
       ORDER BY id DESC LIMIT 1`,
    )
    const found = query.get(runId, type)
    return found === undefined ? null : (this.#db.parse(found.body) as LoggedEvent)
  }

  /** Counts the lines of a run's log that could not be read. */
  damagedLines(runId: string): number {
    const query = this.#db.query<{ readonly damaged: number }>(
      'SELECT damaged FROM log_cursors WHERE run = (SELECT key FROM runs WHERE id = ?)',
    )
    return query.get(runId)?.damaged ?? 0
  }
}

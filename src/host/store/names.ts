/** Names of metrics and reward functions as numbers: each text is stored once. */
import type { Connection } from './connection.ts'

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

  /** The number of a name, or null where nothing has it. */
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

/** Settings of the program, JSON by key. */
import type { Connection } from './connection.ts'

export class SettingsTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** undefined where nothing was set. */
  get(key: string): unknown {
    const row = this.#db
      .query<{ readonly value: string }>('SELECT value FROM settings WHERE key = ?')
      .get(key)
    return row ? this.#db.parse(row.value) : undefined
  }

  /** undefined removes it. */
  set(key: string, value: unknown): void {
    if (value === undefined) this.#db.run('DELETE FROM settings WHERE key = ?', key)
    else
      this.#db.run('INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)', key, JSON.stringify(value))
  }

  all(): ReadonlyMap<string, unknown> {
    const query = this.#db.query<{ readonly key: string; readonly value: string }>(
      'SELECT key, value FROM settings ORDER BY key',
    )
    return new Map(query.all().map(({ key, value }) => [key, this.#db.parse(value)]))
  }
}

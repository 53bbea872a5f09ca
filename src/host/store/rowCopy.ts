/** Copies the rows of a table that may be damaged: from both ends, then by halves towards the damage. */
import { AppError } from '#shared/errors.ts'
import type { Connection, SqlValue } from './connection.ts'

export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns rows lie in the order of. */
  readonly key: readonly string[]
}

type Key = readonly SqlValue[]

interface Range {
  /** Neither bound is within; null is the end of the table. */
  readonly after: Key | null
  readonly before: Key | null
}

/** Whether every row was copied; `table` is the target's, the source may lack columns. */
export function copyRows(source: Connection, target: Connection, table: Table): boolean {
  try {
    const known = new Set(
      source.tuples<[name: string]>(`SELECT name FROM pragma_table_info('${table.name}')`).all().flat(),
    )
    const columns = table.columns.filter((column) => known.has(column))
    const copy = new RowCopy(source, target, { ...table, columns })
    return copy.range({ after: null, before: null })
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

class RowCopy {
  readonly #source: Connection
  readonly #target: Connection
  readonly #table: Table
  readonly #insert: string

  constructor(source: Connection, target: Connection, table: Table) {
    this.#source = source
    this.#target = target
    this.#table = table
    const names = table.columns.join(', ')
    const places = table.columns.map(() => '?').join(', ')
    this.#insert = `INSERT OR IGNORE INTO ${table.name} (${names}) VALUES (${places})`
  }

  /** Whether every row of a range was copied. */
  range(range: Range): boolean {
    const first = this.#pass(range, 'ASC')
    if (first.isWhole) return true
    const after = first.last ?? range.after
    const second = this.#pass({ after, before: range.before }, 'DESC')
    this.#between(after?.[0] ?? 0, (second.last ?? range.before)?.[0] ?? null)
    return false
  }

  /** Copies what can be reached by halves; only keys that are numbers have a middle. */
  #between(low: SqlValue, high: SqlValue): void {
    if (this.#table.key.length > 1 || typeof low !== 'number' || typeof high !== 'number') return
    if (high - low <= 2) return // one row at most, which is damaged
    const middle = Math.floor((low + high) / 2)
    this.range({ after: [low], before: [middle + 1] })
    this.range({ after: [middle], before: [high] })
  }

  /** Copies in one direction until the end or the damage. */
  #pass({ after, before }: Range, direction: 'ASC' | 'DESC') {
    const { name, columns, key } = this.#table
    const keys = key.join(', ')
    const places = key.map(() => '?').join(', ')
    const bounds = [
      ...(after === null ? [] : [`(${keys}) > (${places})`]),
      ...(before === null ? [] : [`(${keys}) < (${places})`]),
    ]
    const rows = this.#source.tuples<SqlValue[]>(
      `SELECT ${[...key, ...columns].join(', ')} FROM ${name}
       ${bounds.length > 0 ? `WHERE ${bounds.join(' AND ')}` : ''}
       ORDER BY ${key.map((column) => `${column} ${direction}`).join(', ')}`,
    )
    let last: Key | null = null
    let isSound = true
    try {
      for (const row of rows.each(...(after ?? []), ...(before ?? []))) {
        last = row.slice(0, key.length)
        isSound = this.#put(row.slice(key.length)) && isSound
      }
      return { isWhole: isSound, last }
    } catch (error) {
      if (!isDamage(error)) throw error
      return { isWhole: false, last }
    }
  }

  /** Whether the row was as the table wants it. */
  #put(values: readonly SqlValue[]): boolean {
    try {
      this.#target.run(this.#insert, ...values)
      return true
    } catch (error) {
      // What a damaged page says need not fit its column.
      if (
        error instanceof Error &&
        'code' in error &&
        /^SQLITE_(CONSTRAINT|MISMATCH)/.test(String(error.code))
      ) {
        return false
      }
      throw error
    }
  }
}

/** Also where SQLite cannot make sense of a statement that is right: then the list of tables is damaged. */
const isDamage = (error: unknown): boolean =>
  (error instanceof AppError && error.code === 'store/unreadable') ||
  (error instanceof Error && 'code' in error && error.code === 'SQLITE_ERROR')

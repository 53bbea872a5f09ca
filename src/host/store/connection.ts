/** The database connection: prepared statements, transactions, and readable errors. */
import Database from 'better-sqlite3'
import { AppError } from '#shared/errors.ts'

export type SqlValue = string | number | Uint8Array | null
type Parameters = readonly (SqlValue | Readonly<Record<string, SqlValue>>)[]

/** A prepared SELECT. */
export interface Query<Row> {
  all(...parameters: Parameters): Row[]
  get(...parameters: Parameters): Row | undefined
  each(...parameters: Parameters): Generator<Row>
}

/** Time that a statement waits for another process. */
const busyTimeoutMs = 10_000

export class Connection implements Disposable {
  readonly file: string
  readonly #database: Database.Database
  readonly #statements = new Map<string, Database.Statement>()

  /**
   * `readonly` changes nothing in the file; else it is made where it does not exist. `at`: where it is read instead, another file or
   * its content.
   */
  constructor(
    file: string,
    { readonly = false, at = file }: { readonly readonly?: boolean; readonly at?: string | Buffer } = {},
  ) {
    this.file = file
    this.#database = this.#attempt(
      () => new Database(at, { readonly, fileMustExist: readonly, timeout: busyTimeoutMs }),
    )
    // SQLite's own lower() knows only the letters of ASCII.
    this.#database.function('fold', { deterministic: true }, (text) => String(text).toLowerCase())
  }

  /** A query whose rows are objects. */
  query<Row>(sql: string): Query<Row> {
    return this.#queryOf<Row>(this.#prepared(sql))
  }

  /** A query whose rows are arrays: faster where there are many. */
  tuples<Row extends readonly SqlValue[]>(sql: string): Query<Row> {
    return this.#queryOf<Row>(this.#prepared(sql, 'raw'))
  }

  /** Returns how many rows changed and the key of the last one made. */
  run(sql: string, ...parameters: Parameters): { readonly changes: number; readonly key: number } {
    const statement = this.#prepared(sql)
    const { changes, lastInsertRowid } = this.#attempt(() => statement.run(...parameters))
    return { changes, key: Number(lastInsertRowid) }
  }

  /** Executes several statements, without parameters. */
  execute(sql: string): void {
    this.#attempt(() => this.#database.exec(sql))
  }

  /** The answer of `PRAGMA text`. */
  pragma(text: string): unknown {
    return this.#attempt(() => this.#database.pragma(text, { simple: true }))
  }

  /** Runs all of it or nothing; no other process writes meanwhile. May be nested. */
  write<T>(action: () => T): T {
    return this.#attempt(() => this.#database.transaction(action).immediate())
  }

  /** Runs reads that all see the same state. */
  read<T>(action: () => T): T {
    return this.#attempt(() => this.#database.transaction(action).deferred())
  }

  /** The whole database as a file would hold it. */
  serialize(): Buffer {
    return this.#attempt(() => this.#database.serialize())
  }

  /** Parses JSON that a row holds. Errors: AppError 'store/unreadable'. */
  parse(text: string): unknown {
    try {
      return JSON.parse(text)
    } catch (error) {
      throw unreadable(this.file, 'a stored document is incomplete', error)
    }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #prepared(sql: string, form: 'object' | 'raw' = 'object'): Database.Statement {
    const name = form === 'raw' ? `raw ${sql}` : sql
    const known = this.#statements.get(name)
    if (known) return known
    const statement = this.#attempt(() => this.#database.prepare(sql))
    if (form === 'raw') statement.raw(true)
    this.#statements.set(name, statement)
    return statement
  }

  #queryOf<Row>(statement: Database.Statement): Query<Row> {
    const attempt = <T>(action: () => T): T => this.#attempt(action)
    return {
      all: (...parameters) => attempt(() => statement.all(...parameters) as Row[]),
      get: (...parameters) => attempt(() => statement.get(...parameters) as Row | undefined),
      *each(...parameters) {
        const rows = attempt(() => statement.iterate(...parameters) as IterableIterator<Row>)
        try {
          for (let next = attempt(() => rows.next()); next.done !== true; next = attempt(() => rows.next())) {
            yield next.value
          }
        } finally {
          rows.return?.()
        }
      },
    }
  }

  #attempt<T>(action: () => T): T {
    try {
      return action()
    } catch (error) {
      throw storeError(this.file, error)
    }
  }
}

/**
 * Pattern for `fold(…) LIKE ? ESCAPE '\'`: anything that holds the text, whatever its case. undefined stays undefined.
 */
export const likePattern = <Text extends string | undefined>(text: Text): Text =>
  (text === undefined ? undefined : `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`) as Text

/* What SQLite says, as one clear sentence. */

const untouched = {
  text: 'The file was left as it is.',
  command: '`turnwise runs recover` saves what can still be read into a new one.',
}

/** The history cannot be used; `finding` is what shows it. */
export const unreadable = (file: string, finding: string, cause?: unknown): AppError =>
  new AppError(
    'store/unreadable',
    `The history in ${file} is damaged or not a Turnwise history: ${finding}.`,
    untouched,
    cause,
  )

export const tooNew = (file: string, version: number, known: number): AppError =>
  new AppError(
    'store/too-new',
    `The history in ${file} was written by a newer version of Turnwise (its format is ${version}; this version reads up to ${known}).`,
    'It was left as it is. Use the newer version, or another data directory.',
  )

const unwritable = (reason: string) => (file: string, error: Error) =>
  new AppError(
    'file/unwritable',
    `The history in ${file} could not be written: ${reason}.`,
    'The previous file is untouched.',
    error,
  )

const unfinished = (file: string, error: Error) =>
  new AppError(
    'store/unreadable',
    `Beside the history in ${file} lies the journal of a change that another program began; Turnwise leaves none.`,
    `Nothing was changed. If you did not put ${file}-journal there, move it away.`,
    error,
  )

const damaged = (file: string, error: Error) => unreadable(file, error.message, error)

const busy = (file: string, error: Error) =>
  new AppError(
    'store/busy',
    `Another process has locked the history in ${file} for too long.`,
    'Nothing was changed. End the other process or try again.',
    error,
  )

/** First match decides. */
const readings: readonly (readonly [RegExp, (file: string, error: Error) => AppError])[] = [
  [/^SQLITE_(CORRUPT|NOTADB|FORMAT|IOERR_(READ|SHORT_READ|CORRUPTFS))/, damaged],
  [/^SQLITE_FULL/, unwritable('the disk is full')],
  [/^SQLITE_READONLY_ROLLBACK/, unfinished],
  [/^SQLITE_READONLY/, unwritable('this account may not write there, or the disk is read-only')],
  [/^SQLITE_CANTOPEN/, unwritable('it cannot be opened there')],
  [/^SQLITE_IOERR/, unwritable('the disk reported an error')],
  [/^SQLITE_(BUSY|LOCKED)/, busy],
]

/** An error of SQLite that a person can cause, in words; anything else as it is. */
function storeError(file: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  const reading = readings.find(([pattern]) => pattern.test(error.code))
  return reading ? reading[1](file, error) : error
}

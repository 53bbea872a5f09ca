/**
 * Recovers what is readable of a damaged history into a new file; the damaged one is only read. Rows on lost pages are
 * gone; the rest is read around them.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { writing } from '#host/files/fileErrors.ts'
import { Connection, type SqlValue } from './connection.ts'
import { latestVersion, migrate, removeOtherNames } from './database.ts'

export interface Recovery {
  readonly recoveredFile: string
  /** Table → rows saved. */
  readonly rowsByTable: Readonly<Record<string, number>>
  /** Sentences on what could not be saved; empty when everything was. */
  readonly lost: readonly string[]
}

/** Tables that can be filled again from the logs of runs: where any of them is lost, all logs are read anew. */
const tablesOfLogs = new Set([
  ...['events', 'checkpoints', 'measurements', 'metric_rows', 'metric_buckets', 'log_cursors', 'rewinds'],
  ...['samples', 'sample_parts', 'sample_arrays'],
])

/**
 * Copies the readable rows into a new file beside the damaged one, which no process may have open. Errors: AppError
 * 'file/unreadable', 'file/unwritable'; 'store/unreadable' where nothing can be read.
 */
export function recoverStore(file: string): Recovery {
  const folder = writing(file, () => mkdtempSync(`${file}-recovery-`))
  try {
    const copy = path.join(folder, 'damaged')
    writing(file, () => copyDatabase(file, copy))
    const target = path.join(folder, 'recovered')
    const saved = rescue(copy, target) ?? rescueWithoutWal(copy, target)
    if (!saved) {
      throw new AppError('store/unreadable', `Nothing in ${file} can be read.`, 'It was left as it is.')
    }
    const recoveredFile = freeName(file)
    writing(file, () => renameSync(target, recoveredFile))
    return { recoveredFile, ...saved }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Saved = Omit<Recovery, 'recoveredFile'>

/** null where not even the list of tables can be read. */
function rescue(damaged: string, target: string): Saved | null {
  try {
    using source = new Connection(damaged)
    source.pragma('writable_schema = ON') // opens a file that is shorter than its header says
    const present = new Set(tablesOf(source).map(({ name }) => name))
    if (present.size === 0) return null
    using recovered = new Connection(target)
    recovered.pragma('foreign_keys = OFF')
    migrate(recovered, latestVersion)
    const tables = tablesOf(recovered).filter(({ name }) => present.has(name))
    return recovered.write(() => copyTables(source, recovered, tables))
  } catch (error) {
    if (error instanceof AppError && error.code === 'store/unreadable') return null
    throw error
  }
}

/** Changes not yet in the main file are given up where they keep it from being read. */
function rescueWithoutWal(damaged: string, target: string): Saved | null {
  if (!existsSync(`${damaged}-wal`)) return null
  for (const name of [`${damaged}-wal`, `${damaged}-shm`, target]) rmSync(name, { force: true })
  return rescue(damaged, target)
}

function copyTables(source: Connection, target: Connection, tables: readonly Table[]): Saved {
  const damaged = tables.filter((table) => !copyRows(source, target, table)).map(({ name }) => name)
  const elsewhere = removeOtherNames(target)
  const orphans = dropOrphans(target, tables)
  if ([...damaged, ...orphans].some((name) => tablesOfLogs.has(name))) readLogsAgain(target)
  const lost = [
    ...damaged.map((name) => `Rows of ${name} could not be read.`),
    ...elsewhere.map((name) => `Rows of ${name} named files elsewhere.`),
    ...orphans.map((name) => `Rows of ${name} belonged to lost ones.`),
  ]
  const count = ({ name }: Table) =>
    target.tuples<[count: number]>(`SELECT count(*) FROM ${name}`).get()?.[0] ?? 0
  return { rowsByTable: Object.fromEntries(tables.map((table) => [table.name, count(table)])), lost }
}

/** Removes rows whose run, sample or the like is gone; returns the tables that had such. */
function dropOrphans(db: Connection, tables: readonly Table[]): string[] {
  const owners = tables.flatMap(({ name, columns }) => {
    const keys = db
      .query<{ readonly table: string; readonly from: string; readonly to: string }>(
        `SELECT "table", "from", "to" FROM pragma_foreign_key_list('${name}')`,
      )
      .all()
      .map((key) => ({ name, ...key }))
    if (keys.length > 0 || !columns.includes('run')) return keys
    return [{ name, table: 'runs', from: 'run', to: 'key' }]
  })
  // Samples before their parts: an owner that goes takes its own with it.
  return owners
    .filter(
      ({ name, table, from, to }) =>
        db.run(`DELETE FROM ${name} WHERE "${from}" NOT IN (SELECT "${to}" FROM ${table})`).changes > 0,
    )
    .map(({ name }) => name)
}

/** Makes every log look replaced: the next ingest forgets what came from it and reads it whole, if it is there. */
function readLogsAgain(db: Connection): void {
  db.execute(`
    INSERT OR IGNORE INTO log_cursors (run, offset, seq, tail, rewinds, damaged)
      SELECT key, 1, 0, '', ifnull((SELECT max(number) FROM rewinds WHERE run = key), 0), 0 FROM runs;
    UPDATE log_cursors SET tail = '', offset = max(offset, 1)`)
}

/** Lists our own tables, those that others refer to first. */
function tablesOf(db: Connection): Table[] {
  const query = db.query<{ readonly name: string; readonly wr: number }>(
    `SELECT t.name, t.wr FROM pragma_table_list AS t JOIN sqlite_schema AS s ON s.name = t.name AND s.type = 'table'
     WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY s.rowid`,
  )
  return query.all().map(({ name, wr }) => {
    const columns = db
      .query<{ readonly name: string; readonly pk: number }>(
        `SELECT name, pk FROM pragma_table_info('${name}') ORDER BY cid`,
      )
      .all()
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    return {
      name,
      columns: columns.map((column) => column.name),
      key: wr === 1 ? key.map((column) => column.name) : ['rowid'],
    }
  })
}

/** Copies a database with the changes that are not in the main file yet, and a header as every history has it. */
function copyDatabase(file: string, copy: string): void {
  copyFileSync(file, copy)
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`)
  const { size } = statSync(copy)
  if (size < pageSize) return
  const handle = openSync(copy, 'r+')
  try {
    const header = Buffer.alloc(100)
    readSync(handle, header, 0, header.length, 0)
    const pages = repairHeader(header, Math.floor(size / pageSize))
    writeSync(handle, header, 0, header.length, 0)
    ftruncateSync(handle, pages * pageSize)
  } finally {
    closeSync(handle)
  }
}

const pageSize = 4096

/**
 * Writes every field that is the same in all our files, and the page count: https://sqlite.org/fileformat2.html, §1.3.
 * Returns the pages the file should have: where it was cut short, the missing ones must at least be there.
 */
function repairHeader(header: Buffer, actualPages: number): number {
  const claimed = header.readUInt32BE(28)
  const pages = claimed > actualPages && claimed <= actualPages * 1000 ? claimed : actualPages
  header.write('SQLite format 3\0', 0, 'latin1')
  header.writeUInt16BE(pageSize, 16)
  header.set([2, 2, 0, 64, 32, 32], 18) // WAL for writing and reading, no reserved space, fixed fractions
  header.writeUInt32BE(pages, 28)
  header.fill(0, 32, 40) // no free pages: theirs are left alone
  header.writeUInt32BE(4, 44) // schema format
  header.fill(0, 52, 56) // no automatic vacuum
  header.writeUInt32BE(1, 56) // UTF-8
  header.fill(0, 64, 68)
  header.fill(0, 72, 92)
  header.copy(header, 92, 24, 28) // the page count is of the last change
  return pages
}

function freeName(file: string): string {
  const { dir, name, ext } = path.parse(file)
  for (let number = 1; ; number++) {
    const candidate = path.join(dir, `${name}-recovered${number === 1 ? '' : `-${number}`}${ext}`)
    if (!existsSync(candidate)) return candidate
  }
}

/* Copies the rows of a table that may be damaged: from both ends, then by halves towards the damage. */

interface Table {
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

/**
 * Copies the rows of a table and returns true if every row was copied; `table` is the target's, the source may lack
 * columns.
 */
function copyRows(source: Connection, target: Connection, table: Table): boolean {
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

  /** Copies a range and returns true if every row was copied. */
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

  /** Inserts a row; returns false if the table does not accept it. */
  #put(values: readonly SqlValue[]): boolean {
    try {
      this.#target.run(this.#insert, ...values)
      return true
    } catch (error) {
      // Values on a damaged page need not fit their column.
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

/**
 * Returns true if the file is damaged; also where SQLite cannot make sense of a correct statement, since then the list
 * of tables is damaged.
 */
const isDamage = (error: unknown): boolean =>
  (error instanceof AppError && error.code === 'store/unreadable') ||
  (error instanceof Error && 'code' in error && error.code === 'SQLITE_ERROR')

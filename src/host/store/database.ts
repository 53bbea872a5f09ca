/** Opens the history database: checks it before writing, then migrates it to this version. */
import { type BigIntStats, copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError, usageError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { readError } from '#host/files/fileErrors.ts'
import { requireOwnDatabase } from '#host/files/ownFiles.ts'
import { Connection, tooNew, unreadable } from './connection.ts'
import { migrations } from './migrations.ts'

/** Mark in the file's header of a history of Turnwise: “Turn”. */
const applicationId = 0x5475726e

export const latestVersion = migrations.length

/**
 * Columns whose values name files and folders, from the version on in which they do: one with a separator or a dot before it would
 * lead elsewhere in a history that somebody else made.
 */
const fileNames: readonly (readonly [table: string, column: string, from?: number])[] = [
  ['runs', 'id'],
  ['runs', 'study_id', 8],
  ['checkpoints', 'directory', 11],
  ['data_sets', 'id'],
  ['data_set_versions', 'id'],
  ['rewards', 'id'],
  ['reward_versions', 'reward'],
  ['reward_versions', 'hash'],
  ['reward_versions', 'language'],
  ['queue', 'run_id'],
  ['evaluations', 'id'],
  ['evaluations', 'run_id'],
]

/** Small tables that hold what exists nowhere else, or lead to the rest: checked whole at every start. */
const vitalTables = [
  'runs',
  'run_documents',
  'run_tags',
  'log_cursors',
  'names',
  'data_sets',
  'data_set_versions',
  'rewards',
  'reward_versions',
  'labels',
  'settings',
  'queue',
]

/**
 * The log beside a database as the file system has it, which SQLite merges into it when it is opened; null where there is none, or an
 * empty one.
 */
export function logBeside(file: string): BigIntStats | null {
  const log = `${file}-wal`
  const status = existsSync(log) ? lstatSync(log, { bigint: true }) : null
  return status?.size === 0n ? null : status
}

/**
 * Opens the database, or makes it. Errors: AppError 'store/too-new', 'store/unreadable' (then the file is as it was),
 * 'store/busy', 'file/unwritable'.
 */
export function openDatabase(file: string): Connection {
  refuseOldNode()
  makeFolder(path.dirname(file))
  requireOwnDatabase(file)
  if (hasContent(file)) {
    using connection = new Connection(file, { readonly: true })
    inspect(connection)
  }
  return prepared(new Connection(file))
}

/**
 * Opens what the database holds, in memory alone: the file may lie where nothing can be written, and is left as it is. Errors: as
 * `openDatabase`.
 */
export function openDatabaseCopy(file: string): Connection {
  refuseOldNode()
  if (!hasContent(file)) return prepared(new Connection(file, { at: ':memory:' }))
  return prepared(new Connection(file, { at: contentOf(file) }), inspect)
}

const hasContent = (file: string): boolean => existsSync(file) && statSync(file).size > 0

function prepared(connection: Connection, check?: (connection: Connection) => void): Connection {
  try {
    check?.(connection)
    configure(connection)
    migrate(connection, latestVersion)
    return connection
  } catch (error) {
    connection[Symbol.dispose]()
    throw error
  }
}

/** Reads the file and what processes have committed beside it: SQLite can merge that only where it may write. */
function contentOf(file: string): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-history-'))
  const copy = path.join(folder, 'history.db')
  try {
    for (const part of ['', '-wal']) if (existsSync(file + part)) copyFileSync(file + part, copy + part)
    using connection = new Connection(file, { at: copy })
    connection.pragma('journal_mode = DELETE')
    return connection.serialize()
  } catch (error) {
    throw error instanceof AppError ? error : readError(file, error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** better-sqlite3 ends an older process without a word. */
function refuseOldNode(): void {
  if (Number(process.versions['napi']) >= 10) return
  throw usageError(`The history needs Node 22.14 or newer, this is ${process.version}.`)
}

/**
 * Configures a connection so that every commit is on the disk before it counts: tags, notes and code exist nowhere
 * else.
 */
function configure(connection: Connection): void {
  patiently(() => connection.pragma('journal_mode = WAL'))
  for (const setting of ['synchronous = FULL', 'foreign_keys = ON', 'trusted_schema = OFF']) {
    connection.pragma(setting)
  }
}

/** The change to WAL does not wait for a process that makes the same change at this moment. */
function patiently(action: () => unknown): void {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      action()
      return
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'store/busy') || Date.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/** Migrates a database to a version, completely or not at all. */
export function migrate(connection: Connection, target: number): void {
  if (versionOf(connection) === target) return
  connection.write(() => {
    const version = versionOf(connection) // another process may have been first
    if (version > latestVersion) throw tooNew(connection.file, version, latestVersion)
    for (const migration of migrations.slice(version, target)) {
      connection.execute(migration.sql)
      connection.pragma(`user_version = ${migration.version}`)
    }
    connection.pragma(`application_id = ${applicationId}`)
  })
}

const versionOf = (connection: Connection): number => Number(connection.pragma('user_version'))

/** Refuses what this version must not write to, without writing. */
function inspect(connection: Connection): void {
  try {
    inspectTables(connection)
  } catch (error) {
    if (error instanceof AppError || !(error instanceof Error)) throw error
    throw unreadable(connection.file, error.message, error) // even of a sound statement SQLite could make no sense
  }
}

function inspectTables(connection: Connection): void {
  const { file } = connection
  const version = versionOf(connection)
  const found = schemaOf(connection)
  if (found.length === 0 && version === 0) return
  if (connection.pragma('application_id') !== applicationId) {
    throw unreadable(file, 'it is another program’s database')
  }
  if (version > latestVersion) throw tooNew(file, version, latestVersion)
  const [expected, made] = [expectedSchema(version), new Set(found.map(({ sql }) => sql))]
  const [known, names] = [new Set(expected.map(({ sql }) => sql)), new Set(found.map(({ what }) => what))]
  const missing = expected.find(({ what, sql }) => !made.has(sql) || !names.has(what))
  if (missing !== undefined) throw unreadable(file, `its ${missing.what} has an unexpected form`)
  // A trigger would act whenever Turnwise writes, and a view stand for what it reads.
  const foreign = found.find(({ sql }) => !known.has(sql))
  if (foreign !== undefined) throw unreadable(file, `its ${foreign.what} is not Turnwise’s`)
  for (const table of vitalTables.filter((name) => names.has(`table ${name}`))) {
    const finding = connection.pragma(`quick_check('${table}')`)
    if (finding !== 'ok') throw unreadable(file, String(finding))
  }
  requireFileNames(connection, version, names)
}

const leadsElsewhere = (column: string): string =>
  `${column} GLOB '*[^A-Za-z0-9_.-]*' OR ${column} NOT GLOB '[A-Za-z0-9]*'`

/** Tells whether a name of a file or folder may be kept in the columns that hold such. */
export const isFileName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)

/** Removes rows that name files elsewhere from a history of the latest version; returns the tables that had such. */
export const removeOtherNames = (connection: Connection): string[] =>
  fileNames
    .filter(
      ([table, column]) => connection.run(`DELETE FROM ${table} WHERE ${leadsElsewhere(column)}`).changes > 0,
    )
    .map(([table]) => table)

function requireFileNames(connection: Connection, version: number, names: ReadonlySet<string>): void {
  for (const [table, column, from = 1] of fileNames) {
    if (version < from || !names.has(`table ${table}`)) continue
    const [found] = connection
      .tuples<[string]>(`SELECT ${column} FROM ${table} WHERE ${leadsElsewhere(column)} LIMIT 1`)
      .all()
    if (found === undefined) continue
    throw unreadable(connection.file, `its table ${table} has the ${column} “${shorten(found[0])}”`)
  }
}

interface Made {
  /** Kind and name of a table, index, trigger or view. */
  readonly what: string
  /** The statement that made it, by which SQLite knows it. */
  readonly sql: string
}

const schemaOf = (connection: Connection): Made[] =>
  connection
    .query<Made>("SELECT type || ' ' || name AS what, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    .all()

function expectedSchema(version: number): Made[] {
  using fresh = new Connection(':memory:')
  migrate(fresh, version)
  return schemaOf(fresh)
}

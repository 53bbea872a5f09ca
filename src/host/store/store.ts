/**
 * The history of all runs in one SQLite file, and what people make: data sets, rewards, settings, the queue.
 *
 * Reading guide: database.ts opens the file and migrates it (migrations/), connection.ts runs statements. One file per
 * group of tables: runs, metrics, samples, labels, checkpoints, events, dataSets, rewards, evaluations, settings, queue. A run's numbers come
 * from its log: ingest.ts reads it once, history.ts puts each event in its table, metricWriter.ts and pyramid.ts keep
 * the buckets that charts read. recover.ts saves what is readable of a damaged file. Several processes may have the
 * same file open.
 */
import type { BigIntStats } from 'node:fs'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError } from '#shared/errors.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { movedText } from '#host/files/movedPaths.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import type { Connection } from './connection.ts'
import { logBeside, openDatabase, openDatabaseCopy } from './database.ts'
import { DataSetsTable } from './dataSets.ts'
import { EvaluationsTable } from './evaluations.ts'
import { EventsTable, type StoredEvent, NamesTable } from './names.ts'
import { LabelsTable } from './labels.ts'
import { Ingestion } from './ingest.ts'
import { MetricsTable } from './metrics.ts'
import { RewardsTable } from './rewards.ts'
import { RunsTable } from './runs.ts'
import { SamplesTable } from './samples.ts'

/**
 * History of all runs. Every call may throw AppError 'store/unreadable', 'store/busy' or 'file/unwritable'; then
 * nothing was changed.
 */
export interface Store extends Disposable {
  readonly file: string
  readonly runs: RunsTable
  readonly metrics: MetricsTable
  readonly samples: SamplesTable
  readonly labels: LabelsTable
  readonly checkpoints: CheckpointsTable
  readonly events: EventsTable
  readonly dataSets: DataSetsTable
  readonly rewards: RewardsTable
  readonly evaluations: EvaluationsTable
  readonly settings: SettingsTable
  readonly queue: QueueTable
  /**
   * Takes what is new in a run's log into the history, exactly once however many processes do so at the same time.
   * Returns the events this call recorded, samples without their token arrays. A log that is not there yet is empty; one
   * that was replaced is taken from its start. Errors: AppError 'run/not-found', 'file/unreadable' too.
   */
  ingest(runId: string, file: string): StoredEvent[]
  /** The log beside the file that was merged into it when it was opened, as the file system had it; null: none. */
  readonly merged: BigIntStats | null
  /** Describes what is wrong with the file, in SQLite's words; empty when it is whole. Reads all of it. */
  check(): string[]
  /** Makes every call that would change something throw 'file/unwritable' from now on. */
  refuseChanges(): void
}

/** Opens the history of the data directory that the file lies in. Errors: AppError 'store/too-new', 'store/unreadable' (the file is then as it was), 'store/busy', 'file/unwritable'. */
export function openStore(file: string): Store {
  const merged = logBeside(file)
  return storeOf(openDatabase(file), merged)
}

/** Opens a copy in memory of a history that cannot be written; changes end with it. Errors: as `openStore`. */
export const openStoreCopy = (file: string): Store => storeOf(openDatabaseCopy(file), null)

function storeOf(db: Connection, merged: BigIntStats | null): Store {
  const { file } = db
  const names = new NamesTable(db)
  const dataDirectory = path.dirname(file)
  const runs = new RunsTable(db, dataDirectory)
  const ingestion = new Ingestion(db, names)
  return {
    file,
    merged,
    runs,
    metrics: new MetricsTable(db, names),
    samples: new SamplesTable(db),
    labels: new LabelsTable(db),
    checkpoints: new CheckpointsTable(db, dataDirectory),
    events: new EventsTable(db),
    dataSets: new DataSetsTable(db, dataDirectory),
    rewards: new RewardsTable(db),
    evaluations: new EvaluationsTable(db, dataDirectory),
    settings: new SettingsTable(db, dataDirectory),
    queue: new QueueTable(db),
    ingest: (runId, log) => ingestion.ingest(runs.key(runId), log),
    check: () => findings(db),
    refuseChanges: () => void db.pragma('query_only = ON'),
    [Symbol.dispose]: () => db[Symbol.dispose](),
  }
}

function findings(db: Connection): string[] {
  try {
    const answers = db.tuples<[finding: string]>('PRAGMA quick_check').all()
    return answers.flatMap(([finding]) => (finding === 'ok' ? [] : [finding]))
  } catch (error) {
    if (error instanceof AppError && error.code === 'store/unreadable') return [error.message]
    throw error
  }
}

/* Checkpoints that runs have saved and that retention has not removed. */

type CheckpointRecord = Omit<OutputOf<Api, 'checkpoints.list'>[number], 'isBest' | 'problem'>

const columns = `runs.id AS runId, checkpoints.step, checkpoints.directory, checkpoints.reward,
  size_bytes AS sizeBytes, saved_at AS savedAt`

class CheckpointsTable {
  readonly #db: Connection
  readonly #dataDirectory: string

  constructor(db: Connection, dataDirectory: string) {
    this.#db = db
    this.#dataDirectory = dataDirectory
  }

  /** Lists checkpoints in the order of their steps. */
  list(runId: string): CheckpointRecord[] {
    const folder = runPaths(entryOf(dataFolders(this.#dataDirectory).runs, runId)).checkpoints
    return this.#db
      .query<CheckpointRecord>(
        `SELECT ${columns} FROM checkpoints JOIN runs ON run = key WHERE runs.id = ? ORDER BY checkpoints.step`,
      )
      .all(runId)
      .map(({ directory, ...saved }) => ({
        ...saved,
        directory: path.join(folder, path.basename(directory)),
      }))
  }

  /** Removes a checkpoint whose directory is gone though no event of the run says so. */
  remove(runId: string, directory: string): void {
    this.#db.run(
      'DELETE FROM checkpoints WHERE run = (SELECT key FROM runs WHERE id = ?) AND directory = ?',
      ...[runId, path.basename(directory)],
    )
  }
}

/* Settings of the program, JSON by key. */

interface SettingRow {
  readonly key: string
  readonly value: string
  readonly home: string | null
}

class SettingsTable {
  readonly #db: Connection
  readonly #dataDirectory: string

  constructor(db: Connection, dataDirectory: string) {
    this.#db = db
    this.#dataDirectory = dataDirectory
  }

  /** undefined where nothing was set. */
  get(key: string): unknown {
    const row = this.#db.query<SettingRow>('SELECT * FROM settings WHERE key = ?').get(key)
    return row && this.#valueOf(row)
  }

  /** undefined removes it. */
  set(key: string, value: unknown): void {
    if (value === undefined) this.#db.run('DELETE FROM settings WHERE key = ?', key)
    else
      this.#db.run(
        'INSERT OR REPLACE INTO settings (key, value, home) VALUES (?, ?, ?)',
        ...[key, JSON.stringify(value), this.#dataDirectory],
      )
  }

  /** Removes a secret, so that nothing of it is left in the file, nor in what processes have committed beside it. */
  forget(key: string): void {
    this.#db.pragma('secure_delete = ON')
    this.set(key, undefined)
    this.#db.pragma('secure_delete = OFF')
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
  }

  all(): ReadonlyMap<string, unknown> {
    const query = this.#db.query<SettingRow>('SELECT * FROM settings ORDER BY key')
    return new Map(query.all().map((row) => [row.key, this.#valueOf(row)]))
  }

  /** A draft of a run names models and data sets. */
  #valueOf({ value, home }: SettingRow): unknown {
    return this.#db.parse(movedText(value, home, this.#dataDirectory))
  }
}

/* The runs that wait for their turn, in order. */

interface QueuedRun {
  readonly runId: string
  /** True if the next run starts even if this one failed. */
  readonly continueOnError: boolean
}

interface QueueRow {
  readonly run_id: string
  readonly continue_on_error: number
}

class QueueTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  list(): QueuedRun[] {
    return this.#db
      .query<QueueRow>('SELECT run_id, continue_on_error FROM queue ORDER BY place')
      .all()
      .map(queuedRun)
  }

  /** Puts a run at the end; one that waits already keeps its place. */
  push(runId: string, { continueOnError = true } = {}): void {
    this.#db.run(
      `INSERT INTO queue (place, run_id, continue_on_error)
       SELECT ifnull(max(place), 0) + 1, ?, ? FROM queue WHERE true
       ON CONFLICT (run_id) DO UPDATE SET continue_on_error = excluded.continue_on_error`,
      ...[runId, continueOnError ? 1 : 0],
    )
  }

  /** Moves a run to a place, 0 first; beyond the end is the end. Errors: AppError 'run/not-found'. */
  move(runId: string, place: number): void {
    this.#db.write(() => {
      const runs = this.list()
      const moved = runs.find((run) => run.runId === runId)
      if (!moved) throw new AppError('run/not-found', `The run ${runId} is not in the queue.`)
      const order = runs.filter((run) => run !== moved)
      order.splice(Math.max(0, place), 0, moved)
      this.#db.run('DELETE FROM queue')
      for (const run of order) this.push(run.runId, run)
    })
  }

  /** Removes a run; returns false where it was not in the queue. */
  remove(runId: string): boolean {
    return this.#db.run('DELETE FROM queue WHERE run_id = ?', runId).changes > 0
  }

  /** The first run, which from now on waits no more: no other process gets it too. */
  takeNext(): QueuedRun | null {
    return this.#db.write(() => {
      const [first] = this.list()
      if (!first) return null
      this.remove(first.runId)
      return first
    })
  }
}

const queuedRun = (row: QueueRow): QueuedRun => ({
  runId: row.run_id,
  continueOnError: row.continue_on_error === 1,
})

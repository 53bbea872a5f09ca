/**
 * The history of all runs in one SQLite file, and what people make: data sets, rewards, settings, the queue.
 *
 * Reading guide: database.ts opens the file and migrates it (migrations/), connection.ts runs statements. One file per
 * group of tables: runs, metrics, samples, checkpoints, events, dataSets, rewards, settings, queue. A run's numbers come
 * from its log: ingest.ts reads it once, history.ts puts each event in its table, metricWriter.ts and pyramid.ts keep
 * the buckets that charts read. recover.ts saves what is readable of a damaged file. Several processes may have the
 * same file open.
 */
import { AppError } from '#shared/errors.ts'
import { CheckpointsTable } from './checkpoints.ts'
import type { Connection } from './connection.ts'
import { openDatabase } from './database.ts'
import { DataSetsTable } from './dataSets.ts'
import { EventsTable, type StoredEvent } from './events.ts'
import { Ingestion } from './ingest.ts'
import { MetricsTable } from './metrics.ts'
import { NamesTable } from './names.ts'
import { QueueTable } from './queue.ts'
import { RewardsTable } from './rewards.ts'
import { RunsTable } from './runs.ts'
import { SamplesTable } from './samples.ts'
import { SettingsTable } from './settings.ts'

/** Every call may throw AppError 'store/unreadable', 'store/busy' or 'file/unwritable'; then nothing was changed. */
export interface Store extends Disposable {
  readonly file: string
  readonly runs: RunsTable
  readonly metrics: MetricsTable
  readonly samples: SamplesTable
  readonly checkpoints: CheckpointsTable
  readonly events: EventsTable
  readonly dataSets: DataSetsTable
  readonly rewards: RewardsTable
  readonly settings: SettingsTable
  readonly queue: QueueTable
  /**
   * Takes what is new in a run's log into the history, exactly once however many processes do so at the same time.
   * Returns the events this call recorded, samples without their token arrays. A log that is not there yet is empty; one
   * that was replaced is taken from its start. Errors: AppError 'run/not-found', 'file/unreadable' too.
   */
  ingest(runId: string, file: string): StoredEvent[]
  /** What is wrong with the file, in SQLite's words; empty when it is whole. Reads all of it. */
  check(): string[]
}

/** Errors: AppError 'store/too-new', 'store/unreadable' (the file is then as it was), 'store/busy', 'file/unwritable'. */
export function openStore(file: string): Store {
  const db = openDatabase(file)
  const names = new NamesTable(db)
  const runs = new RunsTable(db)
  const ingestion = new Ingestion(db, names)
  return {
    file,
    runs,
    metrics: new MetricsTable(db, names),
    samples: new SamplesTable(db),
    checkpoints: new CheckpointsTable(db),
    events: new EventsTable(db),
    dataSets: new DataSetsTable(db),
    rewards: new RewardsTable(db),
    settings: new SettingsTable(db),
    queue: new QueueTable(db),
    ingest: (runId, log) => ingestion.ingest(runs.key(runId), log),
    check: () => findings(db),
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

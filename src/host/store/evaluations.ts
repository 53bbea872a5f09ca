/** Stores evaluations: their subject, progress and result. The answers are in files. */
import type { EvaluationEntry } from '#shared/api/evaluations.ts'
import { moved } from '#host/files/movedPaths.ts'
import type { Connection } from './connection.ts'

/** An entry as it is kept. */
export type EvaluationRecord = Omit<EvaluationEntry, 'secondsLeft'> & {
  /** Start of the process that computes it, epoch milliseconds, and the number of prompts done by then. */
  readonly begunAt: number | null
  readonly begunDone: number | null
}

type Json = 'config' | 'summary' | 'error'
type Row = Omit<EvaluationRecord, Json | 'greedy'> & {
  readonly config: string
  readonly summary: string | null
  readonly error: string | null
  readonly greedy: number
  readonly home: string | null
}

/** Column → key; the column `owner` was for the lock, which is in the folder of the evaluation now. */
const columns = {
  id: 'id',
  title: 'title',
  created_at: 'createdAt',
  ended_at: 'endedAt',
  status: 'status',
  run_id: 'runId',
  step: 'step',
  model: 'model',
  adapter: 'adapter',
  config: 'config',
  samples: 'samples',
  greedy: 'greedy',
  row_limit: 'limit',
  pass_at: 'passAt',
  judge: 'judge',
  done: 'done',
  total: 'total',
  summary: 'summary',
  error: 'error',
  begun_at: 'begunAt',
  begun_done: 'begunDone',
} as const satisfies Record<string, keyof EvaluationRecord>

const names = Object.entries(columns)
const selected = [...names.map(([column, key]) => `${column} AS "${key}"`), 'home'].join(', ')

export class EvaluationsTable {
  readonly #db: Connection
  readonly #dataDirectory: string

  constructor(db: Connection, dataDirectory: string) {
    this.#db = db
    this.#dataDirectory = dataDirectory
  }

  add(record: EvaluationRecord): void {
    this.#db.run(
      `INSERT INTO evaluations (home, ${Object.keys(columns).join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})`,
      this.#dataDirectory,
      ...names.map(([, key]) => valueOf(record[key])),
    )
  }

  /** Changes an evaluation; does nothing if it is gone. */
  set(id: string, changes: Partial<EvaluationRecord>): void {
    const given = names.filter(([, key]) => changes[key] !== undefined)
    this.#db.run(
      `UPDATE evaluations SET ${given.map(([column]) => `${column} = ?`).join(', ')} WHERE id = ?`,
      ...given.map(([, key]) => valueOf(changes[key])),
      id,
    )
  }

  /** The newest first. */
  list(runId: string | null = null): EvaluationRecord[] {
    return this.#db
      .query<Row>(
        `SELECT ${selected} FROM evaluations WHERE ? IS NULL OR run_id = ? ORDER BY created_at DESC, id DESC`,
      )
      .all(runId, runId)
      .map((row) => this.#record(row))
  }

  find(id: string): EvaluationRecord | null {
    const row = this.#db.query<Row>(`SELECT ${selected} FROM evaluations WHERE id = ?`).get(id)
    return row === undefined ? null : this.#record(row)
  }

  remove(id: string): void {
    this.#db.run('DELETE FROM evaluations WHERE id = ?', id)
  }

  #record({ home, ...row }: Row): EvaluationRecord {
    const now = <Value>(value: Value): Value => moved(value, home, this.#dataDirectory)
    const parse = (text: string | null) => (text === null ? null : this.#db.parse(text))
    return {
      ...row,
      model: now(row.model),
      adapter: now(row.adapter),
      greedy: row.greedy === 1,
      config: now(this.#db.parse(row.config)) as EvaluationRecord['config'],
      summary: parse(row.summary) as EvaluationRecord['summary'],
      error: parse(row.error) as EvaluationRecord['error'],
    }
  }
}

function valueOf(value: EvaluationRecord[keyof EvaluationRecord] | undefined): string | number | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' ? JSON.stringify(value) : value
}

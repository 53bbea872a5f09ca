/** The runs that wait for their turn, in order. */
import { AppError } from '#shared/errors.ts'
import type { Connection } from './connection.ts'

export interface QueuedRun {
  readonly runId: string
  /** Whether the next run starts though this one failed. */
  readonly continueOnError: boolean
}

interface QueueRow {
  readonly run_id: string
  readonly continue_on_error: number
}

export class QueueTable {
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
      if (!moved) throw new AppError('run/not-found', `The run ${runId} does not wait in the queue.`)
      const order = runs.filter((run) => run !== moved)
      order.splice(Math.max(0, place), 0, moved)
      this.#db.run('DELETE FROM queue')
      for (const run of order) this.push(run.runId, run)
    })
  }

  /** Whether it was there. */
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

/** Checkpoints that runs have saved and that retention has not removed. */
import type { Connection } from './connection.ts'

export interface CheckpointRecord {
  readonly runId: string
  readonly step: number
  readonly directory: string
  /** Eval reward measured at this step; null where it was not. */
  readonly reward: number | null
  readonly sizeBytes: number
  /** Epoch milliseconds. */
  readonly savedAt: number
}

const columns = `runs.id AS runId, checkpoints.step, checkpoints.directory, checkpoints.reward,
  size_bytes AS sizeBytes, saved_at AS savedAt`

export class CheckpointsTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** In the order of their steps. */
  list(runId: string): CheckpointRecord[] {
    return this.#db
      .query<CheckpointRecord>(
        `SELECT ${columns} FROM checkpoints JOIN runs ON run = key WHERE runs.id = ? ORDER BY checkpoints.step`,
      )
      .all(runId)
  }

  /** The directory is gone though no event of the run says so. */
  remove(runId: string, directory: string): void {
    this.#db.run(
      'DELETE FROM checkpoints WHERE run = (SELECT key FROM runs WHERE id = ?) AND directory = ?',
      ...[runId, directory],
    )
  }
}

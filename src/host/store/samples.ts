/** Stores trajectories kept to look at, their token arrays, and their scores by other versions of a reward. */
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import type { SamplesEvent } from '#shared/events.ts'
import { type Connection, type SqlValue, likePattern } from './connection.ts'

export type SampleRecord = Omit<OutputOf<Api, 'samples.get'>, 'dataRow'>

export type SampleFilter = Omit<InputOf<Api, 'samples.list'>, 'dataRow'>

/** Decoded TokenArrays of #shared/events.ts: [T] ids, the others [T−1]. */
export type SampleArrays = Readonly<
  Record<
    'logprobs' | 'behaviorLogprobs' | 'referenceLogprobs' | 'entropies' | 'advantages' | 'rewards',
    Float32Array | null
  >
> & { readonly ids: Int32Array; readonly actionMask: Float32Array }

export type SampleScore = OutputOf<Api, 'samples.scores'>[number]

/** A score by the place of its sample in the run's log, which stays when the history is made again. */
export interface PlacedScore extends Omit<SampleScore, 'sampleId'> {
  /** Number of the event, and the sample's in it. */
  readonly seq: number
  readonly position: number
  /** Epoch milliseconds. */
  readonly scoredAt: number
}

type SameColumn = Exclude<
  keyof SampleRecord,
  'runId' | 'parts' | 'stopReason' | 'logged' | 'failures' | 'hasArrays'
>

type SampleRow = Pick<SampleRecord, SameColumn> & {
  readonly stop_reason: SampleRecord['stopReason']
  readonly logged: string | null
  readonly failures: string | null
  readonly has_arrays: number
}

type ArraysRow = Readonly<
  Record<
    'logprobs' | 'behavior_logprobs' | 'reference_logprobs' | 'entropies' | 'advantages' | 'rewards',
    Uint8Array | null
  >
> & { readonly ids: Uint8Array; readonly action_mask: Uint8Array }

const columns = `id, step, source, row, position, prompt, completion, reward, advantage, tokens, stop_reason, version, logged,
  failures, has_arrays`

export class SamplesTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** Lists samples, the newest event first, in it in the order of the log. Reads no token arrays. */
  list({ runId, limit, before, ...filter }: SampleFilter): SampleRecord[] {
    const conditions: readonly (readonly [string, SqlValue | undefined])[] = [
      ['step = ?', filter.step],
      ['step >= ?', filter.fromStep],
      ['step <= ?', filter.toStep],
      ['source = ?', filter.source],
      ['row = ?', filter.row],
      [`fold(concat_ws(char(10), prompt, completion)) LIKE ? ESCAPE '\\'`, likePattern(filter.text)],
      ['reward >= ?', filter.minReward],
      ['reward <= ?', filter.maxReward],
      [
        "(ifnull(failures, '[]') <> '[]') = ?",
        filter.hasFailures === undefined ? undefined : Number(filter.hasFailures),
      ],
      ['(seq, -position) < (SELECT seq, -position FROM samples WHERE id = ?)', before],
    ]
    const used = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
    const query = this.#db.query<SampleRow>(
      `SELECT ${columns} FROM samples WHERE ${['run = (SELECT key FROM runs WHERE id = ?)', ...used.map(({ sql }) => sql)].join(' AND ')}
       ORDER BY seq DESC, position LIMIT ?`,
    )
    return query
      .all(runId, ...used.map(({ value }) => value), limit ?? -1)
      .map((row) => this.#record(runId, row))
  }

  /** Returns the sample, or null where it was forgotten. */
  find(sampleId: number): SampleRecord | null {
    const row = this.#db
      .query<SampleRow & { readonly run_id: string }>(
        `SELECT ${columns}, (SELECT runs.id FROM runs WHERE key = run) AS run_id FROM samples WHERE id = ?`,
      )
      .get(sampleId)
    if (row === undefined) return null
    const { run_id: runId, ...stored } = row
    return this.#record(runId, stored)
  }

  /** The token arrays of a sample; null where none were kept. */
  arrays(sampleId: number): SampleArrays | null {
    const row = this.#db
      .query<ArraysRow>(
        `SELECT ids, action_mask, logprobs, behavior_logprobs, reference_logprobs, entropies, advantages,
           rewards FROM sample_arrays WHERE sample = ?`,
      )
      .get(sampleId)
    if (!row) return null
    return {
      ids: new Int32Array(alone(row.ids)),
      actionMask: new Float32Array(alone(row.action_mask)),
      logprobs: floats(row.logprobs),
      behaviorLogprobs: floats(row.behavior_logprobs),
      referenceLogprobs: floats(row.reference_logprobs),
      entropies: floats(row.entropies),
      advantages: floats(row.advantages),
      rewards: floats(row.rewards),
    }
  }

  /** Lists the steps that have samples. */
  steps(
    runId: string,
  ): { readonly step: number; readonly source: SamplesEvent['source']; readonly count: number }[] {
    return this.#db
      .query<{ step: number; source: SamplesEvent['source']; count: number }>(
        `SELECT step, source, count(*) AS count FROM samples WHERE run = (SELECT key FROM runs WHERE id = ?)
         GROUP BY step, source ORDER BY step, source`,
      )
      .all(runId)
  }

  /** The steps that have samples with an id above `after`, and the highest id there is. */
  stepsAfter(runId: string, after: number): { readonly steps: readonly number[]; readonly last: number } {
    const rows = this.#db
      .query<{ step: number; last: number }>(
        `SELECT step, max(id) AS last FROM samples WHERE run = (SELECT key FROM runs WHERE id = ?) AND id > ?
         GROUP BY step ORDER BY step`,
      )
      .all(runId, after)
    return { steps: rows.map(({ step }) => step), last: Math.max(after, ...rows.map(({ last }) => last)) }
  }

  /** Records the scores by a version of a reward; samples forgotten meanwhile are skipped. */
  addScores(scores: readonly SampleScore[]): void {
    this.#db.write(() => {
      for (const { sampleId, version, parts, error } of scores) {
        this.#db.run(
          `INSERT OR REPLACE INTO sample_scores (sample, version, parts, error, scored_at)
           SELECT id, ?, ?, ?, ? FROM samples WHERE id = ?`,
          ...[version, JSON.stringify(parts), error, Date.now(), sampleId],
        )
      }
    })
  }

  /** Lists the scores of a sample by other versions of a reward, the oldest first. */
  scores(sampleId: number): SampleScore[] {
    return this.#db
      .query<{ readonly version: string; readonly parts: string; readonly error: string | null }>(
        'SELECT version, parts, error FROM sample_scores WHERE sample = ? ORDER BY scored_at, version',
      )
      .all(sampleId)
      .map(({ version, parts, error }) => ({
        sampleId,
        version,
        parts: this.#db.parse(parts) as SampleScore['parts'],
        error,
      }))
  }

  /** Lists the scores of the samples of a run by versions of a reward, or by one of them. */
  scoresOf(runId: string, version?: string): SampleScore[] {
    return this.#db
      .query<{ sample: number; version: string; parts: string; error: string | null }>(
        `SELECT sample, version, parts, error FROM sample_scores
         WHERE sample IN (SELECT id FROM samples WHERE run = (SELECT key FROM runs WHERE id = :run))
           AND (:version IS NULL OR version = :version) ORDER BY sample, scored_at, version`,
      )
      .all({ run: runId, version: version ?? null })
      .map(({ sample, parts, ...score }) => ({
        ...score,
        sampleId: sample,
        parts: this.#db.parse(parts) as SampleScore['parts'],
      }))
  }

  /** Returns the scores by all versions of rewards of the samples of a run. */
  placedScores(runId: string): PlacedScore[] {
    return this.#db
      .query<Omit<PlacedScore, 'parts'> & { readonly parts: string }>(
        `SELECT seq, position, sample_scores.version, parts, error, scored_at AS scoredAt FROM sample_scores
         JOIN samples ON samples.id = sample WHERE run = (SELECT key FROM runs WHERE id = ?)
         ORDER BY seq, position, sample_scores.version`,
      )
      .all(runId)
      .map(({ parts, ...score }) => ({ ...score, parts: this.#db.parse(parts) as SampleScore['parts'] }))
  }

  /** Records scores again; those of samples that are gone are skipped. */
  addPlacedScores(runId: string, scores: readonly PlacedScore[]): void {
    this.#db.write(() => {
      for (const { seq, position, version, parts, error, scoredAt } of scores) {
        this.#db.run(
          `INSERT OR REPLACE INTO sample_scores (sample, version, parts, error, scored_at)
           SELECT id, ?, ?, ?, ? FROM samples
           WHERE run = (SELECT key FROM runs WHERE id = ?) AND seq = ? AND position = ?`,
          ...[version, JSON.stringify(parts), error, scoredAt, runId, seq, position],
        )
      }
    })
  }

  #record(
    runId: string,
    { stop_reason: stopReason, has_arrays: hasArrays, ...row }: SampleRow,
  ): SampleRecord {
    const parts = this.#db.tuples<[name: string, value: number | null]>(
      'SELECT name, value FROM sample_parts JOIN names ON part = key WHERE sample = ? ORDER BY name',
    )
    return {
      ...row,
      runId,
      parts: Object.fromEntries(parts.all(row.id)),
      stopReason,
      logged: row.logged === null ? {} : (this.#db.parse(row.logged) as SampleRecord['logged']),
      failures: row.failures === null ? [] : (this.#db.parse(row.failures) as string[]),
      hasArrays: hasArrays === 1,
    }
  }
}

const floats = (bytes: Uint8Array | null): Float32Array | null =>
  bytes === null ? null : new Float32Array(alone(bytes))

/** The bytes in a buffer of their own, from its beginning. */
const alone = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Runs: their configs, status, tags and notes. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import type { SettingChange } from '#shared/config/changes.ts'
import type { Remark } from '#shared/diagnosis.ts'
import { AppError } from '#shared/errors.ts'
import type { RunManifest } from '#shared/events.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { runEntry, type RunEntry, type RunFailure, type RunRecord, type RunStatus } from '#shared/runs.ts'
import { configButSeed } from '#shared/seedFamilies.ts'
import { count } from '#shared/api/common.ts'
import { algorithmTitle } from '#rl/algorithms/registry.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { moved, movedText } from '#host/files/movedPaths.ts'
import { type Connection, type SqlValue, likePattern } from './connection.ts'

/** Facts from a run's folder when the run is created. */
export interface NewRun {
  readonly id: string
  /** Data directory in which it was made, which paths in its config begin with; null: unknown. */
  readonly home: string | null
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** The text of config.json. */
  readonly config: string
  readonly parent?: { readonly runId: string; readonly step: number } | null
  readonly study?: { readonly studyId: string; readonly trial: number } | null
}

export type RunFilter = InputOf<Api, 'runs.list'> & { readonly studyId?: string | undefined }

/** Details of a status: why the run failed, or the end of what a dead process wrote. */
export interface StatusDetails {
  readonly error?: RunFailure | null
  readonly stderrTail?: string | null
}

/** An entry whose lists and objects are JSON, with what its folder follows from. */
type RunRow = Omit<
  RunEntry,
  'directory' | 'algorithmTitle' | 'tags' | 'settingChanges' | 'finding' | 'error'
> & {
  readonly home: string | null
  readonly tags: string
  readonly settingChanges: string
  readonly finding: string | null
  readonly error: string | null
}

/** Largest time of a Date; earlier versions let larger ones in. */
const lastInstant = 8.64e15

/** Tables that removing a run does not empty by itself. */
const tablesOfRuns = ['samples', 'metric_buckets', 'metric_rows', 'measurements', 'events', 'checkpoints']

/** Columns whose names differ from their keys. */
const special: Partial<Record<string, string>> = {
  id: 'runs.id',
  parentCheckpointStep: 'parent_step',
  stderrTail: 'last_words',
  tags: '(SELECT json_group_array(tag) FROM (SELECT tag FROM run_tags WHERE run = runs.key ORDER BY tag))',
}

const withUnderscores = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The columns of an entry, by its keys. */
const columns = [...Object.keys(runEntry.omit({ directory: true, algorithmTitle: true }).shape), 'home']
  .map((key) => `${special[key] ?? withUnderscores(key)} AS ${key}`)
  .join(', ')

export class RunsTable {
  readonly #db: Connection
  /** The data directory. */
  readonly #home: string
  /** Cached settings and digests by run, valid until further settings are changed. */
  readonly #settingsButSeed = new Map<string, { readonly changes: string; readonly digest: string }>()

  constructor(db: Connection, home: string) {
    this.#db = db
    this.#home = home
  }

  /** Makes the run known; one that is known already stays as it is. */
  add(run: NewRun): RunRecord {
    const facts = factsOf(run.config)
    this.#db.write(() => {
      const { changes, key } = this.#db.run(
        `INSERT INTO runs (id, name, home, created_at, status, steps, algorithm, seed, model, parent_run_id,
           parent_step, study_id, trial, updated_at)
         VALUES (?, ?, ?, ?, 'new', ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
        run.id,
        facts.name,
        run.home,
        run.createdAt,
        facts.steps,
        facts.algorithm,
        facts.seed,
        facts.model,
        run.parent?.runId ?? null,
        run.parent?.step ?? null,
        run.study?.studyId ?? null,
        run.study?.trial ?? null,
        run.createdAt,
      )
      if (changes > 0) this.#db.run('INSERT INTO run_documents (run, config) VALUES (?, ?)', key, run.config)
    })
    return this.get(run.id)
  }

  /** Errors: AppError 'run/not-found'. */
  get(id: string): RunRecord {
    const run = this.find(id)
    if (!run) throw notFound(id)
    return run
  }

  find(id: string): RunRecord | null {
    const row = this.#db
      .query<RunRow & { readonly config: string; readonly manifest: string | null }>(
        `SELECT ${columns}, config, manifest FROM runs JOIN run_documents ON run = key WHERE id = ?`,
      )
      .get(id)
    if (!row) return null
    const config = movedText(row.config, row.home, this.#home)
    const manifest = row.manifest === null ? null : (this.#parse(row.manifest, row.home) as RunManifest)
    return { ...this.#entry(row), config, manifest }
  }

  /** A digest, the same for runs whose configs differ in nothing but seed and name. Reads a config once. */
  settingsButSeed(id: string): string {
    const changes = this.#changesOf(id)
    const known = this.#settingsButSeed.get(id)
    if (known?.changes === changes) return known.digest
    const run = this.get(id)
    // One that is no JSON is like no other.
    const settings = parsedJson(run.config) === null ? id : configButSeed(run)
    const digest = createHash('sha256').update(settings).digest('base64')
    this.#settingsButSeed.set(id, { changes, digest })
    return digest
  }

  #changesOf(id: string): string {
    const query = this.#db.query<{ readonly changes: string }>(
      'SELECT setting_changes AS changes FROM runs WHERE id = ?',
    )
    return query.get(id)?.changes ?? ''
  }

  /** The newest first. Reads no config. */
  list({ status, tag, studyId, text, limit, before }: RunFilter = {}): RunEntry[] {
    const rows = this.#db.query<RunRow>(`
      SELECT ${columns} FROM runs
      WHERE (:status IS NULL OR status = :status)
        AND (:study IS NULL OR study_id = :study)
        AND (:tag IS NULL OR EXISTS (SELECT 1 FROM run_tags WHERE run = runs.key AND tag = :tag))
        AND (:before IS NULL OR (created_at, runs.id) < (SELECT created_at, id FROM runs WHERE id = :before))
        AND (:pattern IS NULL OR fold(concat_ws(char(10), name, notes, tags, model, algorithm, runs.id))
          LIKE :pattern ESCAPE '\\')
      ORDER BY created_at DESC, runs.id DESC LIMIT :limit`)
    return rows
      .all({
        status: status ?? null,
        tag: tag ?? null,
        study: studyId ?? null,
        before: before ?? null,
        pattern: likePattern(text) ?? null,
        limit: limit ?? -1,
      })
      .map((row) => this.#entry(row))
  }

  /** The run with its ancestors and everything forked from them, the oldest first. */
  family(id: string): RunEntry[] {
    this.key(id)
    const rows = this.#db.query<RunRow>(`
      WITH RECURSIVE
        ancestors (id, parent) AS (
          SELECT id, parent_run_id FROM runs WHERE id = ?
          UNION SELECT runs.id, parent_run_id FROM runs JOIN ancestors ON runs.id = ancestors.parent
        ),
        members (id) AS (
          SELECT id FROM ancestors UNION SELECT runs.id FROM runs JOIN members ON parent_run_id = members.id
        )
      SELECT ${columns} FROM runs WHERE id IN (SELECT id FROM members) ORDER BY created_at, runs.id`)
    return rows.all(id).map((row) => this.#entry(row))
  }

  /** Every tag in use, with the number of its runs. */
  tags(): { readonly tag: string; readonly runs: number }[] {
    return this.#db
      .query<{
        tag: string
        runs: number
      }>('SELECT tag, count(*) AS runs FROM run_tags GROUP BY tag ORDER BY tag')
      .all()
  }

  /** A detail not given stays as it was. */
  setStatus(id: string, status: RunStatus, details: StatusDetails = {}): void {
    this.#db.write(() => {
      this.#update(id, 'status', status)
      if (details.error !== undefined) {
        this.#update(id, 'error', details.error === null ? null : JSON.stringify(details.error))
      }
      if (details.stderrTail !== undefined) this.#update(id, 'last_words', details.stderrTail)
    })
  }

  setName(id: string, name: string | null): void {
    this.#update(id, 'name', name)
  }

  setNotes(id: string, notes: string): void {
    this.#update(id, 'notes', notes)
  }

  setTags(id: string, tags: readonly string[]): void {
    this.#db.write(() => {
      const run = this.key(id)
      this.#db.run('DELETE FROM run_tags WHERE run = ?', run)
      for (const tag of new Set(tags)) this.#db.run('INSERT INTO run_tags (run, tag) VALUES (?, ?)', run, tag)
      this.#db.run('UPDATE runs SET updated_at = ? WHERE key = ?', Date.now(), run)
    })
  }

  /** Forgets the run and all that is known of it; its folder stays. */
  remove(id: string): void {
    this.#db.write(() => {
      const run = this.key(id)
      for (const table of tablesOfRuns) this.#db.run(`DELETE FROM ${table} WHERE run = ?`, run)
      this.#db.run('DELETE FROM queue WHERE run_id = ?', id)
      this.#db.run('DELETE FROM runs WHERE key = ?', run)
    })
  }

  /** The run's short name in other tables. Errors: AppError 'run/not-found'. */
  key(id: string): number {
    const row = this.#db.query<{ readonly key: number }>('SELECT key FROM runs WHERE id = ?').get(id)
    if (!row) throw notFound(id)
    return row.key
  }

  /** Returns the data directory in which the newest run was made; null: there is none, or it is unknown. */
  lastHome(): string | null {
    const query = this.#db.query<{ readonly home: string | null }>(
      'SELECT home FROM runs WHERE home IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT 1',
    )
    return query.get()?.home ?? null
  }

  #update(id: string, column: 'status' | 'error' | 'last_words' | 'name' | 'notes', value: SqlValue): void {
    const now = Date.now()
    const sql = `UPDATE runs SET updated_at = ?, ${column} = ? WHERE id = ?`
    if (this.#db.run(sql, now, value, id).changes === 0) throw notFound(id)
  }

  /** Parses JSON, with paths adapted to the present data directory. */
  #parse(json: string, home: string | null): unknown {
    return this.#db.parse(movedText(json, home, this.#home))
  }

  #entry({ home, ...row }: RunRow): RunEntry {
    const parsed = (json: string | null): unknown => (json === null ? null : this.#db.parse(json))
    return {
      ...row,
      directory: entryOf(dataFolders(this.#home).runs, row.id),
      model: moved(row.model, home, this.#home),
      ...this.#algorithmOf(row.algorithm),
      createdAt: Math.max(-lastInstant, Math.min(lastInstant, row.createdAt)),
      tags: parsed(row.tags) as string[],
      settingChanges: parsed(row.settingChanges) as SettingChange[],
      finding: parsed(row.finding) as Remark | null,
      error: parsed(row.error) as RunFailure | null,
    }
  }

  /** A loss of the library has a name, another one that of its file. */
  #algorithmOf(id: string): Pick<RunEntry, 'algorithm' | 'algorithmTitle'> {
    const lossId = /[\\/](rw_[0-9a-f-]{36})[\\/][^\\/]+$/.exec(id)?.[1]
    const loss =
      lossId === undefined
        ? undefined
        : this.#db.query<{ readonly name: string }>('SELECT name FROM rewards WHERE id = ?').get(lossId)
    return {
      algorithm: loss?.name ?? id.split(/[\\/]/).at(-1) ?? id,
      algorithmTitle: loss?.name ?? algorithmTitle(id),
    }
  }
}

const notFound = (id: string): AppError =>
  new AppError('run/not-found', `The history has no run “${id}”.`, 'It may have been removed.')

/* What a list of runs shows of a config. */

const facts = z.object({
  name: z.string().nullable().catch(null),
  model: z.string().catch(''),
  seed: z.int().catch(0),
  steps: count.nullable().catch(null),
  algorithm: z.object({ id: z.string() }).catch({ id: '' }),
})

/** Reads the facts in the text of a config.json; what is missing or of another type is empty. */
function factsOf(config: string): Omit<z.output<typeof facts>, 'algorithm'> & { readonly algorithm: string } {
  const parsed = facts.safeParse(parsedJson(config)).data
  if (!parsed) return { name: null, model: '', seed: 0, steps: null, algorithm: '' }
  return { ...parsed, algorithm: parsed.algorithm.id }
}

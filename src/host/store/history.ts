/** Writes one run's history: each event to its table, with a rollback on resume. */
import path from 'node:path'
import type { SettingChange } from '#shared/config/changes.ts'
import type { RunStatus } from '#shared/runs.ts'
import { parseLogLine, type LoggedEvent } from '#host/workFolder/eventLog.ts'
import type { Connection } from './connection.ts'
import { isFileName } from './database.ts'
import type { StoredEvent, NamesTable } from './names.ts'
import { understand, type KnownEvent, type KnownSample } from './loggedEvents.ts'
import { MetricWriter } from './metricWriter.ts'

type Of<Type extends KnownEvent['type']> = Extract<KnownEvent, { type: Type }>

type Measured =
  | Of<'step'>
  | Of<'evaluation'>
  | (Pick<Of<'checkpoint-saved'>, 'type' | 'step'> & {
      readonly metrics: { readonly checkpoint_time: number }
    })

/** State of the history; a row of log_cursors without the position in the file. */
export interface HistoryState {
  /** Number of the next event. */
  readonly seq: number
  readonly rewinds: number
  readonly damaged: number
}

export const emptyHistory: HistoryState = { seq: 0, rewinds: 0, damaged: 0 }

/** Phases that end a run or halt it; in every other it runs. */
const statusOfPhase: Readonly<Record<string, RunStatus>> = {
  paused: 'paused',
  finished: 'finished',
  stopped: 'stopped',
}

/** Writes events to the history; all calls are within one transaction, and `finish` ends them. */
export class HistoryWriter {
  readonly #db: Connection
  readonly #run: number
  readonly #metrics: MetricWriter
  readonly #samples: SampleWriter
  readonly #stored: StoredEvent[] = []
  #seq: number
  #rewinds: number
  #damaged: number

  constructor(db: Connection, names: NamesTable, run: number, state: HistoryState) {
    this.#db = db
    this.#run = run
    this.#metrics = new MetricWriter(db, names, run)
    this.#samples = new SampleWriter(db, names, run)
    this.#seq = state.seq
    this.#rewinds = state.rewinds
    this.#damaged = state.damaged
  }

  /** Records a line of the log; every whole line has a number, even a damaged one. */
  add(line: string): void {
    const event = parseLogLine(line)
    if (event === null) {
      this.#damaged++
      // The file still has it whole; this is enough to see what it was.
      this.#store({ at: 0, type: 'damaged-line', text: line.slice(0, 200) }, true)
      return
    }
    const known = understand(event)
    if (known?.type === 'resumed') this.rewind(known.keep)
    const { isKept, told } = known ? this.#record(known, event) : { isKept: true, told: event }
    this.#store(told, isKept)
  }

  /** Forgets the events from `keep` on. */
  rewind(keep: number): void {
    const seq = Math.min(keep, this.#seq)
    this.#metrics.rewind(seq)
    this.#samples.rewind(seq)
    const scope = [this.#run, seq]
    this.#db.run('DELETE FROM events WHERE run = ? AND seq >= ?', ...scope)
    // A checkpoint is announced by the event right after those it keeps: the one resumed from stays.
    this.#db.run(`DELETE FROM checkpoints WHERE run = ? AND seq ${keep === 0 ? '>=' : '>'} ?`, ...scope)
    this.#rewinds++
    this.#db.run(
      `INSERT INTO rewinds (run, number, keep, step) VALUES (:run, :number, :keep,
         (SELECT ifnull(max(step), -1) FROM measurements WHERE run = :run AND seq < :keep))`,
      { run: this.#run, number: this.#rewinds, keep: seq },
    )
    this.#seq = seq
  }

  /** Forgets everything: the log was replaced by another. */
  restart(): void {
    this.rewind(0)
    this.#setChanges([])
  }

  /** Updates what is derived from the rows. Returns the state of the history and the events added. */
  finish(): { readonly state: HistoryState; readonly events: readonly StoredEvent[] } {
    this.#metrics.flush()
    this.#db.run(summary, { run: this.#run, now: Date.now() })
    return {
      state: { seq: this.#seq, rewinds: this.#rewinds, damaged: this.#damaged },
      events: this.#stored,
    }
  }

  /** `isKept`: in the table of events; others have tables of their own. */
  #store(event: LoggedEvent, isKept: boolean): void {
    let id = 0
    if (isKept) {
      id = this.#db.run(
        'INSERT INTO events (run, seq, at, type, body) VALUES (?, ?, ?, ?, ?)',
        ...[this.#run, this.#seq, event.at, event.type, JSON.stringify(event)],
      ).key
    }
    this.#stored.push({ id, seq: this.#seq, event })
    this.#seq++
  }

  #record(known: KnownEvent, event: LoggedEvent): { readonly isKept: boolean; readonly told: LoggedEvent } {
    switch (known.type) {
      case 'step':
      case 'evaluation':
        this.#measure(known, event.at)
        return { isKept: false, told: event }
      case 'samples':
        this.#samples.write(this.#seq, known)
        return { isKept: false, told: { ...event, samples: known.samples.map(withoutArrays) } }
      case 'settings-changed':
        this.#setChanges(known.changes)
        return { isKept: true, told: event }
      default:
        this.#apply(known, event.at)
        return { isKept: true, told: event }
    }
  }

  /** Applies what an event changes besides being recorded. */
  #apply(
    known: Exclude<KnownEvent, Of<'step' | 'evaluation' | 'samples' | 'settings-changed'>>,
    at: number,
  ): void {
    switch (known.type) {
      case 'checkpoint-saved':
        this.#saveCheckpoint(known, at)
        break
      case 'checkpoints-removed':
        this.#removeCheckpoints(known)
        break
      case 'manifest':
        this.#setManifest(known)
        break
      case 'status':
        this.#setStatus(statusOfPhase[known.phase] ?? 'running', known.phase)
        break
      case 'resumed':
        this.#setStatus('running', null)
        break
      case 'error':
        this.#fail(known)
        break
      case 'schedule':
      case 'diagnosis':
      // Read from the events when all are in.
    }
  }

  #setManifest({ manifest }: Of<'manifest'>): void {
    const text = JSON.stringify(manifest)
    this.#db.run('UPDATE run_documents SET manifest = ? WHERE run = ?', text, this.#run)
  }

  /** A rewind leaves them: they are of the run, whatever of its history counts. */
  #setChanges(changes: readonly SettingChange[]): void {
    this.#db.run('UPDATE runs SET setting_changes = ? WHERE key = ?', JSON.stringify(changes), this.#run)
  }

  #measure(known: Measured, at: number): void {
    this.#metrics.write({
      seq: this.#seq,
      at,
      kind: known.type === 'checkpoint-saved' ? 'checkpoint' : known.type,
      step: known.step,
      steps: known.type === 'step' ? known.steps : null,
      rows: known.type === 'evaluation' ? known.rows : null,
      metrics: known.metrics,
    })
  }

  #saveCheckpoint(known: Of<'checkpoint-saved'>, at: number): void {
    const { directory, step, reward, sizeBytes, seconds } = known
    const name = path.basename(directory)
    if (!isFileName(name)) return // a log of somebody else's, which names no folder of the run
    if (seconds !== undefined) this.#measure({ ...known, metrics: { checkpoint_time: seconds } }, at)
    this.#db.run(
      `INSERT OR REPLACE INTO checkpoints (run, directory, seq, step, reward, size_bytes, saved_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[this.#run, name, this.#seq, step, reward, sizeBytes, at],
    )
  }

  #removeCheckpoints({ directories }: Of<'checkpoints-removed'>): void {
    for (const directory of directories) {
      const name = path.basename(directory)
      this.#db.run('DELETE FROM checkpoints WHERE run = ? AND directory = ?', this.#run, name)
    }
  }

  #setStatus(status: RunStatus, phase: string | null): void {
    this.#db.run(
      'UPDATE runs SET status = ?, phase = ?, error = NULL, last_words = NULL WHERE key = ?',
      ...[status, phase, this.#run],
    )
  }

  #fail({ code, message, hint }: Of<'error'>): void {
    const error = JSON.stringify({ code, message, hint: hint ?? null })
    this.#db.run("UPDATE runs SET status = 'failed', error = ? WHERE key = ?", error, this.#run)
  }
}

const withoutArrays = ({ arrays: _arrays, ...sample }: Of<'samples'>['samples'][number]) => sample

/** Value of a metric at the first or last event of a kind. */
const at = (metric: string, kind: string, order: 'ASC' | 'DESC', condition = 'TRUE') => `(
  SELECT value FROM measurements AS m LEFT JOIN metric_rows AS r
    ON r.run = m.run AND r.step = m.step AND r.seq = m.seq
      AND r.metric = (SELECT key FROM names WHERE name = '${metric}')
  WHERE m.run = :run AND m.kind = '${kind}' AND ${condition} ORDER BY m.seq ${order} LIMIT 1)`

const lastStep = (column: string) =>
  `(SELECT ${column} FROM measurements WHERE run = :run AND kind = 'step' ORDER BY seq DESC LIMIT 1)`

const plannedSteps = `(
  SELECT nullif(body ->> 'steps', 0) FROM events WHERE run = :run AND type = 'status'
    AND typeof(body ->> 'steps') = 'integer' AND body ->> 'steps' BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}
  ORDER BY seq DESC LIMIT 1)`

const gravestFinding = `(
  SELECT body -> '$.findings[0]' FROM events WHERE run = :run AND type = 'diagnosis' ORDER BY seq DESC LIMIT 1)`

/** Step that a run begins at: 0, or that of its parent's checkpoint. */
const begin = `ifnull((SELECT parent_step FROM runs WHERE key = :run), 0)`

const summary = `
  UPDATE runs SET
    step = ifnull(${lastStep('step')}, 0),
    steps = coalesce(${plannedSteps}, ${lastStep('steps')}, steps),
    reward = ${at('reward', 'step', 'DESC')},
    reward_before = ${at('eval_reward', 'evaluation', 'ASC', `m.step <= ${begin}`)},
    reward_after = ${at('eval_reward', 'evaluation', 'DESC', `m.step > ${begin}`)},
    finding = ${gravestFinding},
    updated_at = :now
  WHERE key = :run`

/* Writes the samples of an event down. */

type SamplesEvent = Extract<KnownEvent, { type: 'samples' }>

class SampleWriter {
  readonly #db: Connection
  readonly #names: NamesTable
  readonly #run: number

  constructor(db: Connection, names: NamesTable, run: number) {
    this.#db = db
    this.#names = names
    this.#run = run
  }

  write(seq: number, event: SamplesEvent): void {
    for (const [position, sample] of event.samples.entries()) {
      const key = this.#insert(seq, position, { step: event.step, source: event.source, sample })
      for (const [name, value] of Object.entries(sample.parts)) {
        const part = this.#names.keyOf(name)
        this.#db.run(
          'INSERT OR REPLACE INTO sample_parts (sample, part, value) VALUES (?, ?, ?)',
          key,
          part,
          value,
        )
      }
      if (sample.arrays) this.#insertArrays(key, sample.arrays)
    }
  }

  /** Forgets every event from `keep` on. */
  rewind(keep: number): void {
    this.#db.run('DELETE FROM samples WHERE run = ? AND seq >= ?', this.#run, keep)
  }

  #insert(
    seq: number,
    position: number,
    { step, source, sample }: Pick<SamplesEvent, 'step' | 'source'> & { readonly sample: KnownSample },
  ): number {
    const { key } = this.#db.run(
      `INSERT INTO samples (run, seq, position, step, source, row, prompt, completion, reward, advantage, tokens,
         stop_reason, version, logged, failures, has_arrays) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[this.#run, seq, position, step, source, sample.row, sample.prompt, sample.completion],
      ...[sample.reward, sample.advantage, sample.tokens, sample.stopReason, sample.version ?? null],
      ...[textOf(sample.logged), textOf(sample.failures), sample.arrays ? 1 : 0],
    )
    return key
  }

  #insertArrays(sample: number, arrays: NonNullable<KnownSample['arrays']>): void {
    this.#db.run(
      `INSERT INTO sample_arrays (sample, ids, action_mask, logprobs, behavior_logprobs, reference_logprobs, entropies,
         advantages, rewards) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[sample, bytesOf(arrays.ids), bytesOf(arrays.actionMask), bytesOf(arrays.logprobs)],
      ...[bytesOf(arrays.behaviorLogprobs), bytesOf(arrays.referenceLogprobs)],
      ...[bytesOf(arrays.entropies), bytesOf(arrays.advantages), bytesOf(arrays.rewards ?? null)],
    )
  }
}

const bytesOf = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text, 'base64')

const textOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

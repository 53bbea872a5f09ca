/** Writes metrics and keeps their bucket pyramid up to date. */
import type { Connection } from './connection.ts'
import type { NamesTable } from './names.ts'
import { fold, single, topLevel, widthOf, type Bucket } from './pyramid.ts'

/** A step, an evaluation or a checkpoint, as the log has it. */
export interface Measurement {
  readonly seq: number
  readonly at: number
  readonly kind: 'step' | 'evaluation' | 'checkpoint'
  readonly step: number
  readonly steps: number | null
  readonly rows: number | null
  /** Metrics; null: the value was not a number. */
  readonly metrics: Readonly<Record<string, number | null>>
}

type BucketTuple = [
  bucket: number,
  firstStep: number | null,
  lastStep: number | null,
  minimum: number | null,
  maximum: number | null,
  total: number,
  last: number | null,
  count: number,
  gapStep: number | null,
]

/** Writes metrics; all calls are within one transaction, and `flush` comes before its end. */
export class MetricWriter {
  readonly #db: Connection
  readonly #names: NamesTable
  readonly #run: number
  /** Metric → first and last step written since the last flush. */
  readonly #touched = new Map<number, [from: number, to: number]>()

  constructor(db: Connection, names: NamesTable, run: number) {
    this.#db = db
    this.#names = names
    this.#run = run
  }

  write({ seq, at, kind, step, steps, rows, metrics }: Measurement): void {
    this.#db.run(
      'INSERT INTO measurements (run, seq, kind, step, steps, rows, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ...[this.#run, seq, kind, step, steps, rows, at],
    )
    for (const [name, value] of Object.entries(metrics)) {
      const metric = this.#names.keyOf(name)
      this.#db.run(
        'INSERT OR REPLACE INTO metric_rows (run, metric, step, seq, value) VALUES (?, ?, ?, ?, ?)',
        ...[this.#run, metric, step, seq, value],
      )
      const [from, to] = this.#touched.get(metric) ?? [step, step]
      this.#touched.set(metric, [Math.min(from, step), Math.max(to, step)])
    }
  }

  /** Updates the pyramid from what was written. */
  flush(): void {
    for (const [metric, [from, to]] of this.#touched) this.#rebuild(metric, from, to)
    this.#touched.clear()
  }

  /** Forgets every event from `keep` on. */
  rewind(keep: number): void {
    this.flush()
    const first = this.#db
      .tuples<[step: number | null]>('SELECT min(step) FROM measurements WHERE run = ? AND seq >= ?')
      .get(this.#run, keep)?.[0]
    if (first === null || first === undefined) return
    for (const metric of metricsOf(this.#db, this.#run)) this.#truncate(metric, first, keep)
    this.#db.run('DELETE FROM measurements WHERE run = ? AND seq >= ?', this.#run, keep)
  }

  /** Removes a metric's rows from event `keep` on, none of which is of an earlier step than `first`. */
  #truncate(metric: number, first: number, keep: number): void {
    const scope = [this.#run, metric, first]
    this.#db.run(
      'DELETE FROM metric_rows WHERE run = ? AND metric = ? AND step >= ? AND seq >= ?',
      ...scope,
      keep,
    )
    for (let level = 1; level <= topLevel; level++) {
      this.#db.run(
        'DELETE FROM metric_buckets WHERE run = ? AND metric = ? AND level = ? AND bucket >= ?',
        ...[this.#run, metric, level, Math.floor(first / widthOf(level))],
      )
    }
    const last = this.#db
      .tuples<[step: number | null]>('SELECT max(step) FROM metric_rows WHERE run = ? AND metric = ?')
      .get(this.#run, metric)?.[0]
    this.#rebuild(metric, first, Math.max(first, last ?? 0))
  }

  /** Makes the buckets over a range of steps again, each level from the one below; the topmost has one bucket. */
  #rebuild(metric: number, from: number, to: number): void {
    const known = this.#db
      .tuples<[level: number | null]>('SELECT max(level) FROM metric_buckets WHERE run = ? AND metric = ?')
      .get(this.#run, metric)?.[0]
    for (let level = 1; level <= topLevel; level++) {
      const isNew = level > (known ?? 0)
      if (isNew && widthOf(level - 1) > to) return
      const width = widthOf(level)
      const first = isNew ? 0 : Math.floor(from / width) * width
      const end = (Math.floor(to / width) + 1) * width
      const children = readBuckets(this.#db, { run: this.#run, metric, level: level - 1 }, first, end - 1)
      const groups = Map.groupBy(children, ([index]) => Math.floor(index / 4))
      for (const [index, parts] of groups) {
        this.#put(metric, level, index, fold(parts.map(([, bucket]) => bucket)))
      }
    }
  }

  #put(metric: number, level: number, index: number, bucket: Bucket): void {
    this.#db.run(
      `INSERT OR REPLACE INTO metric_buckets (run, metric, level, bucket, first_step, last_step, minimum, maximum,
         total, last, count, gap_step) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[this.#run, metric, level, index, bucket.firstStep, bucket.lastStep, bucket.minimum, bucket.maximum],
      ...[bucket.total, bucket.last, bucket.count, bucket.gapStep],
    )
  }
}

/** One metric of one run, at a level of the pyramid. */
export interface Lane {
  readonly run: number
  readonly metric: number
  /** 0: the raw rows, each a bucket of its own. */
  readonly level: number
}

/** Buckets that lie between two steps, with their numbers, in order. */
export function readBuckets(
  db: Connection,
  { run, metric, level }: Lane,
  from: number,
  to: number,
): [index: number, bucket: Bucket][] {
  if (level === 0)
    return readRows(db, { run, metric }, from, to).map(([step, value]) => [step, single(step, value)])
  const width = widthOf(level)
  const rows = db
    .tuples<BucketTuple>(
      `SELECT bucket, first_step, last_step, minimum, maximum, total, last, count, gap_step FROM metric_buckets
       WHERE run = ? AND metric = ? AND level = ? AND bucket BETWEEN ? AND ? ORDER BY bucket`,
    )
    .all(run, metric, level, Math.ceil(from / width), Math.floor((to + 1) / width) - 1)
  return rows.map(([index, firstStep, lastStep, minimum, maximum, total, last, count, gapStep]) => [
    index,
    { firstStep, lastStep, minimum, maximum, total, last, count, gapStep },
  ])
}

/** Step and value between two steps, in order; of several values of one step the newest. */
export function readRows(
  db: Connection,
  { run, metric }: Omit<Lane, 'level'>,
  from: number,
  to: number,
): [step: number, value: number | null][] {
  const rows = db
    .tuples<[step: number, value: number | null]>(
      `SELECT step, value FROM metric_rows WHERE run = ? AND metric = ? AND step BETWEEN ? AND ?
       ORDER BY step, seq`,
    )
    .all(run, metric, from, to)
  return rows.filter(([step], at) => rows[at + 1]?.[0] !== step)
}

/** The numbers of a run's metrics; walks the key instead of the rows. */
export function metricsOf(db: Connection, run: number): number[] {
  const next = db.tuples<[metric: number | null]>(
    'SELECT min(metric) FROM metric_rows WHERE run = ? AND metric > ?',
  )
  const found: number[] = []
  for (let last = -1; ;) {
    const metric = next.get(run, last)?.[0] ?? null
    if (metric === null) return found
    found.push(metric)
    last = metric
  }
}

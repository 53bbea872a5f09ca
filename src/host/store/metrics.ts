/** Metric queries for charts, tables and feeds. */
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import type { Connection } from './connection.ts'
import { metricsOf, readBuckets, readRows } from './metricWriter.ts'
import type { NamesTable } from './names.ts'
import { fold, levelFor, single, widthOf, type Bucket } from './pyramid.ts'

export type SeriesRequest = InputOf<Api, 'metrics.series'>

/** One stretch of steps, from the first with a number to the last. No spike is lost: it is the minimum or the maximum. */
export type SeriesPoint = OutputOf<Api, 'metrics.series'>['runs'][number]['points'][number]

export interface RunSeries {
  readonly runId: string
  readonly points: readonly SeriesPoint[]
  /** Steps whose value was no number, the first of each stretch: no line may be drawn across. */
  readonly gaps: readonly number[]
}

/** Position up to which a follower has read each run; plain JSON. */
export type MetricCursor = Readonly<Record<string, { readonly rewinds: number; readonly seq: number }>>

export interface MetricRow {
  readonly runId: string
  readonly metric: string
  readonly step: number
  /** Value; null: it was not a number. */
  readonly value: number | null
}

export interface NewMetricRows {
  /** Runs that went back: forget their rows after this step (-1: all) before adding the new ones. */
  readonly rewound: readonly { readonly runId: string; readonly rewoundTo: number }[]
  readonly rows: readonly MetricRow[]
  readonly cursor: MetricCursor
  /** True if the caller should ask again at once. */
  readonly more: boolean
}

interface Position {
  readonly run: number
  readonly seq: number
  readonly rewinds: number
}

const defaultMaxPoints = 500

export class MetricsTable {
  readonly #db: Connection
  readonly #names: NamesTable

  constructor(db: Connection, names: NamesTable) {
    this.#db = db
    this.#names = names
  }

  /** Reduced series of one metric, and the cursor to follow it from. Runs not known are passed over. */
  series(request: SeriesRequest): { readonly runs: readonly RunSeries[]; readonly cursor: MetricCursor } {
    return this.#db.read(() => ({
      runs: request.runIds.flatMap((runId) => this.#seriesOf(runId, request) ?? []),
      cursor: this.cursor(request.runIds),
    }))
  }

  /** The names of the metrics a run has. */
  names(runId: string): string[] {
    return this.#metricsOf(runId)
      .map(([, name]) => name)
      .sort()
  }

  /** Metric → its value at the last step that has one. */
  latest(runId: string): ReadonlyMap<string, { readonly step: number; readonly value: number | null }> {
    const last = this.#db.query<{ readonly step: number; readonly value: number | null }>(
      'SELECT step, value FROM metric_rows WHERE run = ? AND metric = ? ORDER BY step DESC, seq DESC LIMIT 1',
    )
    const run = this.#position(runId)?.run ?? -1
    return new Map(
      this.#metricsOf(runId).flatMap(([metric, name]) => {
        const row = last.get(run, metric)
        return row ? [[name, row] as const] : []
      }),
    )
  }

  /** The last numbers of one metric, the oldest first; two evaluations of one step are two. */
  recent(runId: string, metric: string, limit: number): { readonly step: number; readonly value: number }[] {
    const query = this.#db.query<{ readonly step: number; readonly value: number }>(
      `SELECT step, value FROM metric_rows WHERE run = (SELECT key FROM runs WHERE id = ?)
         AND metric = (SELECT key FROM names WHERE name = ?) AND value IS NOT NULL
       ORDER BY step DESC, seq DESC LIMIT ?`,
    )
    return query.all(runId, metric, limit).reverse()
  }

  /** Returns when the last step or evaluation ended, epoch ms; null before the first. */
  measuredAt(runId: string): number | null {
    const query = this.#db.query<{ readonly at: number }>(
      `SELECT at FROM measurements WHERE run = (SELECT key FROM runs WHERE id = ?) ORDER BY seq DESC LIMIT 1`,
    )
    return query.get(runId)?.at ?? null
  }

  /** Returns the cursor of a follower that has everything so far. */
  cursor(runIds: readonly string[]): MetricCursor {
    return Object.fromEntries(
      runIds.flatMap((runId) => {
        const position = this.#position(runId)
        return position ? [[runId, { rewinds: position.rewinds, seq: position.seq }]] : []
      }),
    )
  }

  /** Returns what is new since the cursor; a run it does not name is read from its start. `limit`: events per run. */
  rowsAfter(runIds: readonly string[], cursor: MetricCursor, limit = 2000): NewMetricRows {
    return this.#db.read(() => {
      const parts = runIds.flatMap((runId) => this.#runRowsAfter(runId, cursor[runId], limit) ?? [])
      return {
        rewound: parts.flatMap(({ runId, rewoundTo }) => (rewoundTo === null ? [] : [{ runId, rewoundTo }])),
        rows: parts.flatMap(({ rows }) => rows),
        cursor: Object.fromEntries(parts.map(({ runId, next }) => [runId, next])),
        more: parts.some(({ more }) => more),
      }
    })
  }

  /**
   * Returns every number of a run: one row per step, its values in the order of `metrics`; null where there is none.
   */
  table(runId: string): {
    readonly metrics: readonly string[]
    readonly rows: readonly { readonly step: number; readonly values: readonly (number | null)[] }[]
  } {
    const metrics = this.#metricsOf(runId).sort(([, a], [, b]) => (a < b ? -1 : 1))
    const run = this.#position(runId)?.run ?? -1
    const steps = new Map<number, (number | null)[]>()
    for (const [column, [metric]] of metrics.entries()) {
      for (const [step, value] of readRows(this.#db, { run, metric }, 0, Number.MAX_SAFE_INTEGER)) {
        const values = steps.get(step) ?? metrics.map(() => null)
        values[column] = value
        steps.set(step, values)
      }
    }
    const rows = [...steps].sort(([a], [b]) => a - b).map(([step, values]) => ({ step, values }))
    return { metrics: metrics.map(([, name]) => name), rows }
  }

  #seriesOf(runId: string, { metric: name, fromStep, toStep, maxPoints }: SeriesRequest): RunSeries | null {
    const run = this.#position(runId)?.run
    if (run === undefined) return null
    const metric = this.#names.find(name)
    const bounds = metric === null ? null : this.#bounds(run, metric)
    if (metric === null || !bounds) return { runId, points: [], gaps: [] }
    const from = Math.max(fromStep ?? 0, bounds[0])
    const to = Math.min(toStep ?? Infinity, bounds[1])
    const lane = { run, metric, isCut: to < bounds[1] }
    return { runId, ...drawn(this.#reduced(lane, from, to, Math.max(1, maxPoints ?? defaultMaxPoints))) }
  }

  /** Returns at most `maxPoints` buckets over the range. */
  #reduced(
    { run, metric, isCut }: { readonly run: number; readonly metric: number; readonly isCut: boolean },
    from: number,
    to: number,
    maxPoints: number,
  ): Bucket[] {
    if (to < from) return []
    const level = levelFor(to - from + 1, maxPoints)
    const width = widthOf(level)
    const first = Math.floor(from / width)
    const perPoint = Math.ceil((Math.floor(to / width) - first + 1) / maxPoints)
    // A bucket that the range cuts through is made from its rows.
    const begin = Math.min(Math.ceil(from / width) * width, to + 1)
    const end = Math.max(
      isCut ? Math.floor((to + 1) / width) * width : (Math.floor(to / width) + 1) * width,
      begin,
    )
    const rows = (a: number, b: number) =>
      readRows(this.#db, { run, metric }, a, b).map(
        ([step, value]) => [Math.floor(step / width), single(step, value)] as const,
      )
    const parts = [
      ...rows(from, begin - 1),
      ...readBuckets(this.#db, { run, metric, level }, begin, end - 1),
      ...rows(end, to),
    ]
    const groups = Map.groupBy(parts, ([index]) => Math.floor((index - first) / perPoint))
    return [...groups.values()].map((group) => fold(group.map(([, bucket]) => bucket)))
  }

  #bounds(run: number, metric: number): [first: number, last: number] | null {
    const edge = (direction: 'min' | 'max') =>
      this.#db
        .tuples<[step: number | null]>(
          `SELECT ${direction}(step) FROM metric_rows WHERE run = ? AND metric = ?`,
        )
        .get(run, metric)?.[0] ?? null
    const [first, last] = [edge('min'), edge('max')]
    return first === null || last === null ? null : [first, last]
  }

  #runRowsAfter(runId: string, seen: MetricCursor[string] | undefined, limit: number) {
    const position = this.#position(runId)
    if (!position) return null
    const { run, rewinds } = position
    const rewind = seen ? this.#rewindSince(run, seen) : null
    const from = rewind?.keep ?? seen?.seq ?? 0
    const events = this.#db
      .tuples<[seq: number, step: number]>(
        'SELECT seq, step FROM measurements WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?',
      )
      .all(run, from, limit)
    const last = events.length < limit ? undefined : events.at(-1)
    const seq = last ? last[0] + 1 : position.seq
    const steps = events.map(([, step]) => step)
    const rows = this.#rowsOf({ runId, run, from, to: seq - 1 }, steps)
    return {
      runId,
      rewoundTo: rewind ? rewind.step : null,
      rows,
      next: { rewinds, seq },
      more: last !== undefined,
    }
  }

  /** The farthest that a run went back behind what the follower has seen. */
  #rewindSince(run: number, { rewinds, seq }: MetricCursor[string]) {
    const query = this.#db.query<{ readonly keep: number; readonly step: number }>(
      `SELECT keep, step FROM rewinds WHERE run = ? AND number > ? AND keep < ? ORDER BY keep, number LIMIT 1`,
    )
    return query.get(run, rewinds, seq) ?? null
  }

  #rowsOf(
    range: { readonly runId: string; readonly run: number; readonly from: number; readonly to: number },
    steps: readonly number[],
  ): MetricRow[] {
    if (steps.length === 0) return []
    const [low, high] = [steps.reduce((a, b) => Math.min(a, b)), steps.reduce((a, b) => Math.max(a, b))]
    const query = this.#db.tuples<[step: number, value: number | null]>(
      `SELECT step, value FROM metric_rows
       WHERE run = ? AND metric = ? AND step BETWEEN ? AND ? AND seq BETWEEN ? AND ? ORDER BY step, seq`,
    )
    return this.#metricsOf(range.runId).flatMap(([metric, name]) =>
      query
        .all(range.run, metric, low, high, range.from, range.to)
        .map(([step, value]) => ({ runId: range.runId, metric: name, step, value })),
    )
  }

  #metricsOf(runId: string): [metric: number, name: string][] {
    const position = this.#position(runId)
    if (!position) return []
    const query = this.#db.query<{ readonly name: string }>('SELECT name FROM names WHERE key = ?')
    return metricsOf(this.#db, position.run).flatMap((metric) => {
      const name = query.get(metric)?.name
      return name === undefined ? [] : [[metric, name]]
    })
  }

  #position(runId: string): Position | null {
    const query = this.#db.query<Position>(
      `SELECT key AS run, ifnull(seq, 0) AS seq, ifnull(rewinds, 0) AS rewinds
       FROM runs LEFT JOIN log_cursors ON run = key WHERE id = ?`,
    )
    return query.get(runId) ?? null
  }
}

function drawn(buckets: readonly Bucket[]): Pick<RunSeries, 'points' | 'gaps'> {
  return {
    points: buckets.flatMap(pointOf),
    gaps: buckets.flatMap(({ gapStep }) => gapStep ?? []),
  }
}

function pointOf({ firstStep, lastStep, minimum, maximum, total, last, count }: Bucket): SeriesPoint[] {
  if (firstStep === null || lastStep === null || minimum === null || maximum === null || last === null)
    return []
  return [{ step: firstStep, lastStep, min: minimum, max: maximum, mean: total / count, last, count }]
}

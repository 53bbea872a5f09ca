/** Metrics over steps, live: read downsampled, followed as they grow, read again in detail when zoomed. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { seriesCsv } from '#shared/csv.ts'
import { useApi, type Answer, type ApiClient } from '#renderer/client/api.tsx'
import { useFeed } from '#renderer/client/feeds.ts'
import { together } from './curves.ts'
import { emptySeries, type Series, type SeriesPoint } from './lines.ts'

/** Interval between redraws of live charts: paths cost more than pixels, and the run needs the core. */
const redrawnEveryMs = 1000

export type SeriesByMetric = ReadonlyMap<string, ReadonlyMap<string, Series>>

/** Means of a run's metric, step by step. */
export const meansOf = (byMetric: SeriesByMetric, metric: string, runId: string): number[] =>
  byMetric
    .get(metric)
    ?.get(runId)
    ?.points.map(({ mean }) => mean) ?? []

export interface SeriesRequest {
  readonly runIds: readonly string[]
  readonly metrics: readonly string[]
  readonly zoom?: readonly [fromStep: number, toStep: number] | null
  readonly maxPoints?: number
  /** Freezes the values at those present when it became true. */
  readonly isPaused?: boolean
}

export interface SeriesState {
  readonly byMetric: SeriesByMetric
  readonly isLoaded: boolean
  readonly error: Error | null
}

interface Followed {
  readonly byMetric: SeriesByMetric
  readonly cursor: string | null
}

interface Question {
  readonly runIds: readonly string[]
  readonly metrics: readonly string[]
  readonly maxPoints: number
}

const nothing: SeriesByMetric = new Map()
/** Time for which followed series stay cached without a viewer, so that reopening a screen need not wait. */
const keptMs = 120_000

/** Reads series; runs and metrics are compared by name, so callers may pass new arrays on every render. */
export function useSeries(request: SeriesRequest): SeriesState {
  const { maxPoints = 400, zoom = null, isPaused = false } = request
  const key = JSON.stringify([request.runIds, [...new Set(request.metrics)], maxPoints])
  const question = useMemo(() => questionOf(key), [key])
  const { followed, isCurrent, error } = useFollowed(question)
  const detail = useDetail(question, zoom, isCurrent)
  const [frozen, setFrozen] = useState<{ key: string; byMetric: SeriesByMetric } | null>(null)
  if (isPaused && frozen === null && isCurrent) setFrozen({ key, byMetric: followed })
  if (!isPaused && frozen !== null) setFrozen(null)
  const shown = frozen?.key === key ? frozen.byMetric : followed
  const byMetric = useMemo(() => merged(shown, detail), [shown, detail])
  return { byMetric, isLoaded: isCurrent, error }
}

function questionOf(key: string): Question {
  const [runIds, metrics, maxPoints] = JSON.parse(key) as [string[], string[], number]
  return { runIds, metrics, maxPoints }
}

/** Follows series as they grow. Until the first answer, the previous ones stay. */
function useFollowed(question: Question) {
  const client = useApi()
  const queries = useQueryClient()
  const hasQuestion = question.runIds.length > 0 && question.metrics.length > 0
  const queryKey = ['series', question]
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readAll(client, question, signal),
    enabled: hasQuestion,
    staleTime: Infinity,
    gcTime: keptMs,
    placeholderData: keepPreviousData,
  })
  useFeed(
    'metrics.follow',
    { runIds: question.runIds, metrics: question.metrics },
    (items) => {
      // Ranges may span the step a run returned to, so everything is read again.
      if (items.some(({ rewound }) => rewound.length > 0)) void refetch()
      else
        queries.setQueryData<Followed>(
          queryKey,
          (before) => before && grown(before, items, question.maxPoints),
        )
    },
    {
      enabled: hasQuestion && !isFetching && !isPlaceholderData && data?.cursor != null,
      from: data?.cursor ?? null,
      everyMs: redrawnEveryMs,
    },
  )
  return hasQuestion
    ? {
        followed: data?.byMetric ?? nothing,
        isCurrent: error !== null || (data !== undefined && !isPlaceholderData),
        error,
      }
    : { followed: nothing, isCurrent: true, error: null }
}

/**
 * Reads in batches. The first answer's cursor is the oldest: values that later answers already have are skipped when
 * they come again.
 */
async function readAll(
  client: ApiClient,
  { runIds, metrics, maxPoints }: Question,
  signal: AbortSignal,
): Promise<Followed> {
  const [first, ...others] = metrics
  const read = (metric: string) => client.call('metrics.series', { runIds, metric, maxPoints }, { signal })
  const firstAnswer = first === undefined ? null : await read(first)
  const otherAnswers = await Promise.all(others.map(read))
  const answers = firstAnswer ? [firstAnswer, ...otherAnswers] : []
  const byMetric = new Map(metrics.map((metric, i) => [metric, byRun(answers[i])]))
  return { byMetric, cursor: firstAnswer?.cursor ?? null }
}

const byRun = (answer: Answer<'metrics.series'> | undefined): ReadonlyMap<string, Series> =>
  new Map(answer?.runs.map(({ runId, points, gaps }) => [runId, { points, gaps }]))

function grown(
  before: Followed,
  items: readonly { readonly cursor: string; readonly columns: readonly Column[] }[],
  maxPoints: number,
): Followed {
  const byMetric = new Map(before.byMetric)
  for (const { runId, metric, steps, values } of items.flatMap(({ columns }) => columns)) {
    const runs = byMetric.get(metric)
    if (!runs) continue
    const series = appended(runs.get(runId) ?? emptySeries, steps, values, maxPoints)
    byMetric.set(metric, new Map(runs).set(runId, series))
  }
  return { byMetric, cursor: items.at(-1)?.cursor ?? before.cursor }
}

interface Column {
  readonly runId: string
  readonly metric: string
  readonly steps: readonly number[]
  readonly values: readonly (number | null)[]
}

interface Detail {
  readonly key: string
  readonly range: readonly [number, number]
  readonly byMetric: SeriesByMetric
}

/** Reads a range of steps at the resolution of the whole. */
function useDetail(question: Question, zoom: SeriesRequest['zoom'], isReady: boolean): Detail | null {
  const client = useApi()
  const [detail, setDetail] = useState<Detail | null>(null)
  const range = useMemo(() => (zoom ? rangeOf(zoom) : null), [zoom])
  const key = range ? JSON.stringify([question, range]) : ''
  useEffect(() => {
    if (range === null || !isReady) return
    const controller = new AbortController()
    const read = async () => {
      const { runIds, metrics, maxPoints } = question
      const [fromStep, toStep] = range
      const answers = await Promise.all(
        metrics.map((metric) =>
          client.call(
            'metrics.series',
            { runIds, metric, fromStep, toStep, maxPoints },
            { signal: controller.signal },
          ),
        ),
      )
      setDetail({ key, range, byMetric: new Map(metrics.map((metric, i) => [metric, byRun(answers[i])])) })
    }
    // Without the detail, the whole series is still shown.
    read().catch(() => undefined)
    return () => controller.abort()
  }, [client, question, range, key, isReady])
  return detail?.key === key ? detail : null
}

const rangeOf = ([from, to]: readonly [number, number]): readonly [number, number] => [
  Math.max(0, Math.floor(from)),
  Math.max(0, Math.ceil(to)),
]

function merged(byMetric: SeriesByMetric, detail: Detail | null): SeriesByMetric {
  if (detail === null) return byMetric
  const entries = [...byMetric].map(([metric, runs]) => {
    const close = detail.byMetric.get(metric)
    const both = [...runs].map(([runId, series]) => {
      const fine = close?.get(runId)
      return [runId, fine ? withDetail(series, fine, detail.range) : series] as const
    })
    return [metric, new Map(both)] as const
  })
  return new Map(entries)
}

/**
 * Appends new values, skipping known ones. Beyond twice `maxPoints`, neighbours are merged in pairs, so that a series
 * never grows without end.
 */
export function appended(
  series: Series,
  steps: readonly number[],
  values: readonly (number | null)[],
  maxPoints: number,
): Series {
  const points = [...series.points]
  const gaps = [...series.gaps]
  let known = Math.max(points.at(-1)?.lastStep ?? -1, gaps.at(-1) ?? -1)
  for (const [i, step] of steps.entries()) {
    if (step <= known) continue
    known = step
    const y = values[i] ?? null
    if (y === null || !Number.isFinite(y)) gaps.push(step)
    else points.push({ step, lastStep: step, min: y, max: y, mean: y, last: y, count: 1 })
  }
  return { points: points.length > 2 * maxPoints ? halved(points) : points, gaps }
}

export function halved(points: readonly SeriesPoint[]): readonly SeriesPoint[] {
  const half: SeriesPoint[] = []
  for (let i = 0; i < points.length; i += 2) {
    const [a, b] = [points[i], points[i + 1]]
    if (a) half.push(b ? together(a, b) : a)
  }
  return half
}

/** Replaces the part of a series that was read again in more detail. */
export function withDetail(series: Series, detail: Series, [from, to]: readonly [number, number]): Series {
  // Values added since the detail was read are not in it.
  const last = detail.points.at(-1)?.lastStep ?? to
  const before = series.points.filter(({ lastStep }) => lastStep < from)
  const after = series.points.filter(({ step }) => step > last)
  const gaps = [...series.gaps.filter((step) => step < from || step > to), ...detail.gaps].sort(
    (a, b) => a - b,
  )
  return { points: [...before, ...detail.points, ...after], gaps }
}

const pageOfSteps = 10_000

/** Returns every value of some metrics as CSV, one row per run and step. */
export async function fullCsvOf(
  client: ApiClient,
  runs: readonly { readonly id: string; readonly label: string }[],
  metrics: readonly string[],
): Promise<string> {
  const read = await Promise.all(
    runs.map(async (run) => ({ ...run, rows: await allRows(client, run.id, metrics) })),
  )
  return seriesCsv(metrics, read)
}

async function allRows(client: ApiClient, runId: string, metrics: readonly string[]) {
  const rows: { step: number; values: (number | null)[] }[] = []
  for (let fromStep: number | null = 0; fromStep !== null;) {
    const page: Answer<'metrics.table'> = await client.call('metrics.table', {
      runId,
      fromStep,
      limit: pageOfSteps,
    })
    const columns = metrics.map((metric) => page.metrics.indexOf(metric))
    rows.push(
      ...page.rows.map(({ step, values }) => ({
        step,
        values: columns.map((column) => values[column] ?? null),
      })),
    )
    fromStep = page.nextStep
  }
  return rows
}

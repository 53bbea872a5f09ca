/** Metric series for charts and exports. */
import { z } from 'zod'
import type { Handlers } from '#shared/api/contract.ts'
import type { metricsApi } from '#shared/api/metrics.ts'
import { attempt } from '#shared/attempt.ts'
import type { Host } from '#host/host.ts'
import type { MetricCursor, MetricRow } from '#host/store/metrics.ts'
import { newsOf } from '#host/store/feeds.ts'

export const metricsService = ({ store, notifier }: Host): Handlers<typeof metricsApi> => ({
  names: ({ runIds }) => [...new Set(runIds.flatMap((runId) => store.metrics.names(runId)))].sort(),
  latest: ({ runId }) => Object.fromEntries(store.metrics.latest(runId)),

  series(request) {
    const { runs, cursor } = store.metrics.series(request)
    return { runs: [...runs], cursor: JSON.stringify(cursor) }
  },

  table({ runId, fromStep, limit }) {
    const { metrics, rows } = store.metrics.table(runId)
    const from = rows.findIndex(({ step }) => step >= fromStep)
    const page = from < 0 ? [] : rows.slice(from, from + limit)
    const nextStep = from < 0 ? null : (rows[from + limit]?.step ?? null)
    return { metrics: [...metrics], rows: page.map((row) => ({ ...row, values: [...row.values] })), nextStep }
  },

  async *follow({ runIds, metrics }, { from, signal }) {
    let cursor = parseCursor(from) ?? {}
    const wanted = new Set(metrics)
    yield* newsOf({ notifier, signal }, () => {
      const found = store.metrics.rowsAfter(runIds, cursor)
      if (found.rows.length === 0 && found.rewound.length === 0) return null
      cursor = found.cursor
      const rows = wanted.size === 0 ? found.rows : found.rows.filter(({ metric }) => wanted.has(metric))
      return {
        cursor: JSON.stringify(cursor),
        rewound: found.rewound.map(({ runId, rewoundTo: toStep }) => ({ runId, toStep })),
        columns: columnsOf(rows),
      }
    })
  },
})

const cursorSchema = z.record(z.string(), z.object({ rewinds: z.int(), seq: z.int() }))

function parseCursor(text: string | null): MetricCursor | null {
  if (text === null) return null
  // Another text than one of ours reads from the beginning.
  return attempt(() => cursorSchema.parse(JSON.parse(text)), null)
}

/** Returns values by column, which takes a tenth of the space of rows. */
function columnsOf(rows: readonly MetricRow[]) {
  const columns = new Map<
    string,
    { runId: string; metric: string; steps: number[]; values: (number | null)[] }
  >()
  for (const { runId, metric, step, value } of rows) {
    const key = `${runId} ${metric}`
    const column = columns.get(key) ?? { runId, metric, steps: [], values: [] }
    columns.set(key, column)
    column.steps.push(step)
    column.values.push(value)
  }
  return [...columns.values()]
}

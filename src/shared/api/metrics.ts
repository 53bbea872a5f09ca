/** Metrics over steps. Charts get downsampled series, followers only new values, exports everything. */
import { z } from 'zod'
import { count, cursor, runId } from './common.ts'
import { feed, query } from './contract.ts'

const runIds = z.array(runId).min(1).max(64)
const metric = z.string().min(1).max(200)

/** Summary of a range of steps. It keeps every spike, as its minimum or maximum. */
const point = z.object({
  step: count,
  lastStep: count,
  min: z.number(),
  max: z.number(),
  mean: z.number(),
  last: z.number(),
  count,
})

/** Parallel columns: `[steps[i], values[i]]`; null where a value was NaN or infinite. */
const column = z.object({
  runId: z.string(),
  metric: z.string(),
  steps: z.array(count),
  values: z.array(z.number().nullable()),
})

export const metricsApi = {
  names: query(z.object({ runIds }), z.array(z.string())),
  latest: query(
    z.object({ runId }),
    z.record(z.string(), z.object({ step: count, value: z.number().nullable() })),
  ),
  /** `cursor`: position from which `follow` continues. */
  series: query(
    z.object({
      runIds,
      metric,
      fromStep: count.optional(),
      toStep: count.optional(),
      maxPoints: z.int().min(2).max(5000).default(500),
    }),
    z.object({
      runs: z.array(z.object({ runId: z.string(), points: z.array(point), gaps: z.array(count) })),
      cursor,
    }),
  ),
  /** Every value of a run, step by metric, in pages of steps. */
  table: query(
    z.object({ runId, fromStep: count.default(0), limit: z.int().min(1).max(10_000).default(1000) }),
    z.object({
      metrics: z.array(z.string()),
      rows: z.array(z.object({ step: count, values: z.array(z.number().nullable()) })),
      nextStep: count.nullable(),
    }),
  ),
  /**
   * New values, at most a few messages per second. `rewound`: a run was resumed from an earlier step, which voids its
   * values after `toStep` (-1: all); sent before the new ones. `metrics` empty: all.
   */
  follow: feed(
    z.object({ runIds, metrics: z.array(metric).max(200).default([]) }),
    z.object({
      cursor,
      rewound: z.array(z.object({ runId: z.string(), toStep: z.int().min(-1) })),
      columns: z.array(column),
    }),
  ),
}

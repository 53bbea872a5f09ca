/** Findings: what the history of a run says is wrong with it. */
import type { Diagnosis } from '#shared/diagnosis.ts'
import { diagnose } from '#rl/diagnosis/diagnose.ts'
import type { Point } from '#rl/diagnosis/diagnosedRun.ts'
import type { Store } from '#host/store/store.ts'
import { configOf } from './runRows.ts'

/** Number of newest samples that show what a run does now. */
const sampleLimit = 200
const heldOutLimit = 48

/** Errors: AppError 'run/not-found'; 'config/invalid' where its config is no longer understood. */
export function diagnoseRun(store: Store, runId: string): Diagnosis {
  const run = store.runs.get(runId)
  return diagnose(configOf(run), {
    metrics: metricsOf(store, runId),
    samples: store.samples.list({ runId, source: 'rollout', limit: sampleLimit }),
    heldOutPrompts: store.samples
      .list({ runId, source: 'evaluation', limit: heldOutLimit })
      .map(({ prompt }) => prompt),
    checkpoints: store.checkpoints.list(runId).map(({ step }) => step),
    failure: run.error,
  })
}

/** Returns points by metric. Not as a table, where a value that was not a number would look like a missing one. */
function metricsOf(store: Store, runId: string): ReadonlyMap<string, readonly Point[]> {
  const { rows } = store.metrics.rowsAfter([runId], {}, Number.MAX_SAFE_INTEGER)
  return Map.groupBy(rows, ({ metric }) => metric)
}

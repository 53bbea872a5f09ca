/** Reads the metrics of a trial from the history. */
import { invalidConfig } from '#shared/errors.ts'
import type { RunEntry } from '#shared/runs.ts'
import type { Fitness } from '#shared/studies.ts'
import type { Store } from '#host/store/store.ts'

/**
 * Returns the fitness at a step, or the mean over the last steps before it; null where there is no number. Errors:
 * AppError 'config/invalid' where no run could have one.
 */
export function fitnessOf(
  { metrics }: Store,
  runId: string,
  step: number,
  { metric, steps }: Fitness,
): number | null {
  const { metrics: names, rows } = metrics.table(runId)
  const column = names.indexOf(metric)
  if (column === -1)
    throw invalidConfig(
      `Trials are compared by ${metric}, which their runs do not report.`,
      `Start another study with one of these as fitness.metric: ${names.join(', ')}.`,
    )
  const values = rows
    .filter((row) => row.step > step - steps && row.step <= step)
    .flatMap((row) => row.values[column] ?? [])
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Steps after `from` up to `until`. */
export function spentBetween(
  { metrics }: Store,
  { id, parentRunId }: Pick<RunEntry, 'id' | 'parentRunId'>,
  from: number,
  until: number,
): { readonly tokens: number; readonly seconds: number } {
  const seriesOf = (runId: string, name: string) => {
    const { metrics: names, rows } = metrics.table(runId)
    const column = names.indexOf(name)
    return rows.flatMap(({ step, values }) => {
      const value = values[column]
      return typeof value === 'number' ? [{ step, value }] : []
    })
  }
  const totals = seriesOf(id, 'num_tokens')
  const totalAt = (step: number, series = totals) => series.findLast((each) => each.step <= step)?.value
  // A fork counts on from its parent, whose tokens are not its own.
  const inherited = () => (parentRunId === null ? 0 : totalAt(from, seriesOf(parentRunId, 'num_tokens')))
  const seconds = seriesOf(id, 'step_time').filter(({ step }) => step > from && step <= until)
  return {
    tokens: Math.max(0, (totalAt(until) ?? 0) - (totalAt(from) ?? inherited() ?? 0)),
    seconds: seconds.reduce((sum, { value }) => sum + value, 0),
  }
}

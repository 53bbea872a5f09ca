/** What the history says of a trial. */
import { AppError } from '#shared/errors.ts'
import type { Fitness } from '#shared/studies.ts'
import type { Store } from '#host/store/store.ts'

/** At a step, or the mean over the last steps before it; null where there is no number. Errors: AppError 'config/invalid' where no run could have one. */
export function fitnessOf(
  { metrics }: Store,
  runId: string,
  step: number,
  { metric, steps }: Fitness,
): number | null {
  const { metrics: names, rows } = metrics.table(runId)
  const column = names.indexOf(metric)
  if (column === -1)
    throw new AppError(
      'config/invalid',
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
  runId: string,
  from: number,
  until: number,
): { readonly tokens: number; readonly seconds: number } {
  const { metrics: names, rows } = metrics.table(runId)
  const [tokens, seconds] = ['num_tokens', 'step_time'].map((name) => names.indexOf(name))
  const valueAt = (row: (typeof rows)[number] | undefined, column = -1) => row?.values[column] ?? 0
  const within = rows.filter((row) => row.step > from && row.step <= until)
  const total = (row: (typeof rows)[number] | undefined) => valueAt(row, tokens)
  const last = within.findLast((row) => total(row) > 0)
  // Counted from the run's beginning; a fork counts on from its parent.
  const first = rows.findLast((row) => row.step <= from && total(row) > 0) ?? null
  const before = first === null ? 0 : total(first)
  return {
    tokens: Math.max(0, total(last) - before),
    seconds: within.reduce((sum, row) => sum + valueAt(row, seconds), 0),
  }
}

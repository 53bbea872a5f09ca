/** How long the runs that train still take, from what the history has of them. */
import type { ScheduleEvent } from '#shared/events.ts'
import { remainingOf, type Remaining, type Timed } from '#shared/remaining.ts'
import type { RunEntry } from '#shared/runs.ts'
import { understand } from '#host/store/loggedEvents.ts'
import type { Store } from '#host/store/store.ts'

export interface RunRemaining extends Remaining {
  readonly runId: string
  /** From when on, epoch ms: the end of the last step, evaluation or checkpoint, or when the run went on after it. */
  readonly since: number
}

/** So many of each tell how long the next ones take. */
const recent = 20

/** null: nothing is known yet, or it does not train now. */
export function runRemaining(
  { events, metrics }: Store,
  { id: runId, status, step }: Pick<RunEntry, 'id' | 'status' | 'step'>,
): RunRemaining | null {
  if (status !== 'running') return null
  const schedule = scheduleOf(events, runId)
  if (schedule === null) return null
  const timed = (metric: string) =>
    metrics.recent(runId, metric, recent).map(({ step: at, value }): Timed => ({ step: at, seconds: value }))
  const completed = Math.max(step, schedule.step)
  const remaining = remainingOf({
    stages: schedule.stages,
    ...{ step: completed, takenUpAt: schedule.step },
    ...{ steps: timed('step_time'), evaluations: timed('eval_time'), checkpoints: timed('checkpoint_time') },
  })
  if (remaining === null) return null
  const wentOn = events.last(runId, 'status')?.at ?? 0
  return { ...remaining, runId, since: Math.max(metrics.measuredAt(runId) ?? 0, wentOn) }
}

function scheduleOf(events: Store['events'], runId: string): Pick<ScheduleEvent, 'step' | 'stages'> | null {
  const last = events.last(runId, 'schedule')
  const known = last === null ? null : understand(last)
  return known?.type === 'schedule' ? known : null
}

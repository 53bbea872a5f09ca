/** Names and phases as the window says them. */
import type { RunPhase } from '#shared/events.ts'

/** What a run is called where it has no name: when and how it was made. */
export function runTitle({
  name,
  algorithm,
  seed,
  id,
}: {
  readonly name: string | null
  readonly algorithm: string
  readonly seed: number
  readonly id: string
}): string {
  return name ?? `${algorithm} · seed ${String(seed)} · ${id.slice(-4)}`
}

type Activity = 'starting' | 'running' | 'pausing' | 'paused' | 'stopping'

const activities: Readonly<Record<Exclude<Activity, 'running'>, string>> = {
  starting: 'Starting',
  pausing: 'Pausing after this step',
  paused: 'Paused',
  stopping: 'Stopping after this step',
}

export const phaseWords = (phase: RunPhase | null, activity: Activity = 'running'): string =>
  activity === 'running' ? phaseNames[phase ?? 'loading'] : activities[activity]

const phaseNames: Readonly<Record<RunPhase | 'loading', string>> = {
  loading: 'Loading the model',
  preparing: 'Preparing',
  evaluating: 'Evaluating',
  training: 'Training',
  paused: 'Paused',
  finished: 'Saving',
  stopped: 'Saving',
}

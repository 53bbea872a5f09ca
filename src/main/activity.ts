/** What the shell shows of runs that are being trained: in words, as a bar, and whether the machine must stay awake. */
import type { WorkerStatus } from '#host/runs/supervisor.ts'

export interface TrainedRun {
  readonly id: string
  readonly name: string | null
  /** Steps completed, of `steps`; null until it has begun. */
  readonly step: number
  readonly steps: number | null
  readonly activity: WorkerStatus['activity']
}

export interface Bar {
  /** 0…1; −1 removes the bar. */
  readonly share: number
  readonly mode: 'none' | 'normal' | 'indeterminate' | 'paused'
}

export interface Activity {
  readonly runs: readonly TrainedRun[]
  /** One line. */
  readonly text: string
  readonly bar: Bar
  /** A paused run can wait through a sleep. */
  readonly keepsAwake: boolean
}

export function activityOf(runs: readonly TrainedRun[]): Activity {
  return {
    runs,
    text: describe(runs),
    bar: barOf(runs),
    keepsAwake: runs.some(({ activity }) => activity !== 'paused'),
  }
}

export const runLabel = ({ id, name }: Pick<TrainedRun, 'id' | 'name'>): string => name ?? id.slice(0, 12)

function describe(runs: readonly TrainedRun[]): string {
  const [first, ...others] = runs
  if (first === undefined) return 'No run is being trained'
  const more = others.length === 0 ? '' : ` · ${others.length} more`
  return `${runLabel(first)}: ${whereItIs(first)}${more}`
}

function whereItIs({ step, steps, activity }: TrainedRun): string {
  const place = steps === null || steps === 0 ? `step ${step}` : `step ${step} of ${steps}`
  const words: Readonly<Record<TrainedRun['activity'], string>> = {
    starting: 'preparing',
    running: place,
    pausing: `pausing after this step, ${place}`,
    paused: `paused at ${place}`,
    stopping: `stopping after this step, ${place}`,
  }
  return words[activity]
}

/** Of the run that was started first: several bars in one would say nothing. */
function barOf([run]: readonly TrainedRun[]): Bar {
  if (run === undefined) return { share: -1, mode: 'none' }
  if (run.steps === null || run.steps === 0 || run.activity === 'starting')
    return { share: 0, mode: 'indeterminate' }
  return { share: Math.min(1, run.step / run.steps), mode: run.activity === 'paused' ? 'paused' : 'normal' }
}

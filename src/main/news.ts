/** State of runs for menu and notices: read from the host whenever something happened. */
import { statfs } from 'node:fs/promises'
import { type Notice, runLabel, RunNotices } from '#shared/notices.ts'
import { newsOf } from '#host/store/feeds.ts'
import type { Host } from '#host/host.ts'
import type { WorkerStatus } from '#host/runs/supervisor.ts'

/** Interval of disk checks, in ms, since nothing reports a disk that fills up. */
const lookEveryMs = 60_000

export interface ShellNews {
  readonly activity: Activity
  readonly notices: readonly Notice[]
}

/** Yields the current news at once, then whenever they change, until the signal aborts. */
export function watchRuns(host: Host, signal: AbortSignal): AsyncGenerator<ShellNews> {
  const watch = new Watch(host)
  return newsOf({ notifier: host.notifier, signal, everyMs: lookEveryMs }, () => watch.look())
}

class Watch {
  readonly #host: Host
  #shown: string | null = null
  readonly #notices = new RunNotices()
  #disk = { isLow: false, lookedAt: -Infinity }

  constructor(host: Host) {
    this.#host = host
  }

  async look(): Promise<ShellNews | null> {
    const runs = this.#host.supervisor
      .list()
      .flatMap(({ runId, activity }) => this.#describe(runId, activity))
    const ids = runs.map(({ id }) => id)
    const ofRuns = this.#notices.look(ids, (id) => this.#host.store.runs.find(id))
    const notices = [...ofRuns, ...(await this.#disks())]
    const stamp = JSON.stringify(runs)
    if (stamp === this.#shown && notices.length === 0) return null
    this.#shown = stamp
    return { activity: activityOf(runs), notices }
  }

  /** Describes a run; one whose folder is not in the history yet appears at the next look. */
  #describe(id: string, activity: TrainedRun['activity']): TrainedRun[] {
    const run = this.#host.store.runs.find(id)
    return run === null ? [] : [{ id, name: run.name, step: run.step, steps: run.steps, activity }]
  }

  async #disks(): Promise<Notice[]> {
    if (Date.now() - this.#disk.lookedAt < lookEveryMs) return []
    // A missing folder has no disk; its runs report that themselves.
    const disk = await statfs(this.#host.dataDirectory).catch(() => null)
    const wasLow = this.#disk.isLow
    const freeBytes = disk === null ? Infinity : disk.bavail * disk.bsize
    this.#disk = { isLow: isDiskLow(freeBytes, wasLow), lookedAt: Date.now() }
    return this.#disk.isLow && !wasLow ? [diskNotice(freeBytes)] : []
  }
}

/* Runs that are being trained: in words, as a bar, and whether the machine must stay awake. */

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

/** Progress of the run that was started first: several bars in one would be meaningless. */
function barOf([run]: readonly TrainedRun[]): Bar {
  if (run === undefined) return { share: -1, mode: 'none' }
  if (run.steps === null || run.steps === 0 || run.activity === 'starting')
    return { share: 0, mode: 'indeterminate' }
  return { share: Math.min(1, run.step / run.steps), mode: run.activity === 'paused' ? 'paused' : 'normal' }
}

/* The only notice that is not about a run. */

const gibibyte = 2 ** 30
const lowDiskBytes = 2 * gibibyte
/** Free space above which a low disk may be reported again. */
const enoughDiskBytes = 3 * gibibyte

export const isDiskLow = (freeBytes: number, wasLow: boolean): boolean =>
  freeBytes < (wasLow ? enoughDiskBytes : lowDiskBytes)

export const diskNotice = (freeBytes: number): Notice => ({
  kind: 'disk',
  title: 'The disk is nearly full',
  body: `${(freeBytes / gibibyte).toFixed(1)} GiB are free. Checkpoints need room: delete runs or clear the cache.`,
  route: '/settings/storage',
})

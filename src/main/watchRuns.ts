/** Looks at the runs of this host whenever something happened, and says what the shell has to show or to tell. */
import { statfs } from 'node:fs/promises'
import type { FindingId } from '#shared/diagnosis.ts'
import type { Host } from '#host/host.ts'
import { newsOf } from '#host/api/feeds.ts'
import { activityOf, type Activity, type TrainedRun } from './activity.ts'
import { alarmNotice, diskNotice, endingNotice, isDiskLow, type Notice } from './notices.ts'

/** The disk fills up without a bell. */
const lookEveryMs = 60_000

export interface ShellNews {
  readonly activity: Activity
  readonly notices: readonly Notice[]
}

/** The first news come at once; then whenever there are others, until the signal aborts. */
export function watchRuns(host: Host, signal: AbortSignal): AsyncGenerator<ShellNews> {
  const watch = new Watch(host)
  return newsOf({ bell: host.bell, signal, everyMs: lookEveryMs }, () => watch.look())
}

class Watch {
  readonly #host: Host
  #shown: string | null = null
  #trained: readonly string[] = []
  /** What was told of a run that is trained. */
  readonly #told = new Map<string, Set<FindingId>>()
  #disk = { isLow: false, lookedAt: -Infinity }

  constructor(host: Host) {
    this.#host = host
  }

  async look(): Promise<ShellNews | null> {
    const runs = this.#host.supervisor
      .list()
      .flatMap(({ runId, activity }) => this.#describe(runId, activity))
    const notices = [...this.#endings(runs), ...this.#alarms(runs), ...(await this.#disks())]
    const stamp = JSON.stringify(runs)
    if (stamp === this.#shown && notices.length === 0) return null
    this.#shown = stamp
    return { activity: activityOf(runs), notices }
  }

  /** A run whose folder is not in the history yet is shown at the next look. */
  #describe(id: string, activity: TrainedRun['activity']): TrainedRun[] {
    const run = this.#host.store.runs.find(id)
    return run === null ? [] : [{ id, name: run.name, step: run.step, steps: run.steps, activity }]
  }

  #endings(runs: readonly TrainedRun[]): Notice[] {
    const now = runs.map(({ id }) => id)
    const ended = this.#trained.filter((id) => !now.includes(id))
    this.#trained = now
    return ended.flatMap((id) => {
      this.#told.delete(id)
      const run = this.#host.store.runs.find(id)
      return (run === null ? null : endingNotice(run)) ?? []
    })
  }

  #alarms(runs: readonly TrainedRun[]): Notice[] {
    return runs.flatMap(({ id }) => {
      const told = this.#told.get(id) ?? new Set<FindingId>()
      this.#told.set(id, told)
      const run = this.#host.store.runs.find(id)
      return (run === null ? null : alarmNotice(run, told)) ?? []
    })
  }

  async #disks(): Promise<Notice[]> {
    if (Date.now() - this.#disk.lookedAt < lookEveryMs) return []
    // A folder that is gone has no disk; the runs in it say so themselves.
    const disk = await statfs(this.#host.dataDirectory).catch(() => null)
    const wasLow = this.#disk.isLow
    const freeBytes = disk === null ? Infinity : disk.bavail * disk.bsize
    this.#disk = { isLow: isDiskLow(freeBytes, wasLow), lookedAt: Date.now() }
    return this.#disk.isLow && !wasLow ? [diskNotice(freeBytes)] : []
  }
}

/** Looks at the runs of this host whenever something happened, and says what the shell has to show or to tell. */
import { statfs } from 'node:fs/promises'
import type { FindingId } from '#shared/diagnosis.ts'
import type { Host } from '#host/host.ts'
import { diagnoseRun } from '#host/services/diagnosis.ts'
import { newsOf } from '#host/services/feeds.ts'
import { activityOf, type Activity, type TrainedRun } from './activity.ts'
import { alarmNotice, diskNotice, endingNotice, isDiskLow, type Notice } from './notices.ts'

/** The disk fills up without a bell. */
const lookEveryMs = 60_000
/** A diagnosis reads all numbers of a run. */
const usualDiagnosisMs = 60_000

export interface ShellNews {
  readonly activity: Activity
  readonly notices: readonly Notice[]
}

/** The first news come at once; then whenever there are others, until the signal aborts. */
export function watchRuns(
  host: Host,
  signal: AbortSignal,
  diagnoseEveryMs = usualDiagnosisMs,
): AsyncGenerator<ShellNews> {
  const watch = new Watch(host, diagnoseEveryMs)
  return newsOf({ bell: host.bell, signal, everyMs: lookEveryMs }, () => watch.look())
}

interface Judged {
  step: number
  at: number
  readonly told: Set<FindingId>
}

class Watch {
  readonly #host: Host
  readonly #diagnoseEveryMs: number
  #shown: string | null = null
  #trained: readonly string[] = []
  readonly #judged = new Map<string, Judged>()
  #disk = { isLow: false, lookedAt: -Infinity }

  constructor(host: Host, diagnoseEveryMs: number) {
    this.#host = host
    this.#diagnoseEveryMs = diagnoseEveryMs
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
      this.#judged.delete(id)
      const run = this.#host.store.runs.find(id)
      return (run === null ? null : endingNotice(run)) ?? []
    })
  }

  #alarms(runs: readonly TrainedRun[]): Notice[] {
    return runs.flatMap(({ id, step }) => {
      const judged = this.#judged.get(id) ?? { step: 0, at: Date.now(), told: new Set<FindingId>() }
      this.#judged.set(id, judged)
      if (step === judged.step || Date.now() - judged.at < this.#diagnoseEveryMs) return []
      Object.assign(judged, { step, at: Date.now() })
      return this.#alarm(id, judged.told) ?? []
    })
  }

  #alarm(id: string, told: Set<FindingId>): Notice | null {
    const { store } = this.#host
    try {
      return alarmNotice(store.runs.get(id), diagnoseRun(store, id), told)
    } catch {
      // Deleted meanwhile, or a config that is not one of this version: then there is nothing to judge.
      return null
    }
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

/** Notices for people who look elsewhere: a run is over or goes wrong. Shown by the system, by a browser's tab, and sent to a webhook. */
import type { FindingId } from './diagnosis.ts'
import type { RunEntry } from './runs.ts'

export interface Notice {
  readonly kind: 'done' | 'failed' | 'alarm' | 'disk'
  /** Names and figures alone, since it goes to other machines too. */
  readonly title: string
  /** Figures where a run is done; otherwise it may quote data and errors. */
  readonly body: string
  /** Route opened by a click. */
  readonly route: string
}

/** News of runs: each end once, and each grave finding once. */
export class RunNotices {
  #atWork: readonly string[] = []
  /** Findings already reported, by run. */
  readonly #told = new Map<string, Set<FindingId>>()

  /** `atWork`: runs that are being trained now; one that no longer is has ended. */
  look(atWork: readonly string[], find: (runId: string) => RunEntry | null | undefined): Notice[] {
    const ended = this.#atWork.filter((id) => !atWork.includes(id))
    this.#atWork = atWork
    return [
      ...ended.flatMap((id) => {
        this.#told.delete(id)
        const run = find(id)
        return (run ? endingNotice(run) : null) ?? []
      }),
      ...atWork.flatMap((id) => {
        const told = this.#told.get(id) ?? new Set<FindingId>()
        this.#told.set(id, told)
        const run = find(id)
        return (run ? alarmNotice(run, told) : null) ?? []
      }),
    ]
  }
}

export const runLabel = ({ id, name }: Pick<RunEntry, 'id' | 'name'>): string => name ?? id.slice(0, 12)

/** Describes how a run trained here ended; null if the user ended it, or it goes on. */
export function endingNotice(run: RunEntry): Notice | null {
  const route = `/runs/${run.id}`
  if (run.status === 'finished') {
    return { kind: 'done', title: `${runLabel(run)} is done`, body: outcome(run), route }
  }
  if (run.status !== 'failed' && run.status !== 'interrupted') return null
  const reason = run.error?.message ?? 'Its process ended unexpectedly.'
  return { kind: 'failed', title: `${runLabel(run)} failed at step ${run.step}`, body: reason, route }
}

function outcome({ step, rewardBefore, rewardAfter, reward }: RunEntry): string {
  const steps = `${step} ${step === 1 ? 'step' : 'steps'}`
  if (rewardBefore !== null && rewardAfter !== null)
    return `${steps}; eval reward ${short(rewardBefore)} → ${short(rewardAfter)}.`
  return reward === null ? `${steps}.` : `${steps}; reward ${short(reward)}.`
}

const short = (value: number): string => String(Number(value.toPrecision(3)))

/** Reports once a finding so severe that going on is of no use. `told`: ids reported so far; grows. */
export function alarmNotice(run: RunEntry, told: Set<FindingId>): Notice | null {
  const { finding } = run
  if (finding?.severity !== 'problem' || told.has(finding.id)) return null
  told.add(finding.id)
  const title = `${runLabel(run)} needs a look at step ${run.step} (${finding.id.replaceAll('-', ' ')})`
  return { kind: 'alarm', title, body: finding.words, route: `/runs/${run.id}/diagnosis` }
}

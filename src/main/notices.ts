/** What a person is told by a notice of the system: a run is over, goes wrong, or the disk fills up. Nothing else. */
import type { FindingId } from '#shared/diagnosis.ts'
import type { RunEntry } from '#shared/runs.ts'
import { runLabel } from './activity.ts'

export interface Notice {
  readonly kind: 'done' | 'failed' | 'alarm' | 'disk'
  readonly title: string
  readonly body: string
  /** Where a click leads. */
  readonly route: string
}

/** How a run ended that was trained here; null: a person ended it, or it goes on. */
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

/** What the run says is so wrong with it that going on is of no use, told once. `told`: ids so far; grows. */
export function alarmNotice(run: RunEntry, told: Set<FindingId>): Notice | null {
  const { finding } = run
  if (finding?.severity !== 'problem' || told.has(finding.id)) return null
  told.add(finding.id)
  const title = `${runLabel(run)} needs a look at step ${run.step}`
  return { kind: 'alarm', title, body: finding.words, route: `/runs/${run.id}/diagnosis` }
}

const gibibyte = 2 ** 30
const lowDiskBytes = 2 * gibibyte
/** Told again only after it was well above. */
const enoughDiskBytes = 3 * gibibyte

/** Whether the disk counts as low now. */
export const isDiskLow = (freeBytes: number, wasLow: boolean): boolean =>
  freeBytes < (wasLow ? enoughDiskBytes : lowDiskBytes)

export const diskNotice = (freeBytes: number): Notice => ({
  kind: 'disk',
  title: 'The disk is nearly full',
  body: `${(freeBytes / gibibyte).toFixed(1)} GiB are free. Checkpoints need room: delete runs or clear the cache.`,
  route: '/settings/storage',
})

import {
  Ban,
  Check,
  Circle,
  CircleDot,
  CircleStop,
  Clock,
  Pause,
  TriangleAlert,
  Unplug,
  type LucideIcon,
} from 'lucide-react'
import type { ReactNode } from 'react'
import type { Remark } from '#shared/diagnosis.ts'
import type { RunStatus } from '#shared/runs.ts'
import { classes } from './classes.ts'
import { Tooltip } from './Tooltip.tsx'

export type Tone = 'plain' | 'accent' | 'good' | 'caution' | 'bad'

const tones: Readonly<Record<Tone, string>> = {
  plain: 'bg-raised text-muted',
  accent: 'bg-accent-soft text-accent-ink',
  good: 'bg-good-soft text-good',
  caution: 'bg-caution-soft text-caution',
  bad: 'bg-bad-soft text-bad',
}

interface BadgeProps {
  readonly tone?: Tone
  readonly icon?: LucideIcon
  readonly children: ReactNode
}

export function Badge({ tone = 'plain', icon: Icon, children }: BadgeProps) {
  return (
    <span
      className={classes(
        'inline-flex h-5 shrink-0 items-center gap-1 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {Icon && <Icon size={11} aria-hidden />}
      {children}
    </span>
  )
}

interface StatusLook {
  readonly tone: Tone
  readonly icon: LucideIcon
  readonly words: string
}

/** Status of a run, or of a study that waits for a host. */
type Status = RunStatus | 'waiting'

const statuses: Readonly<Record<Status, StatusLook>> = {
  waiting: { tone: 'plain', icon: Clock, words: 'Waiting' },
  new: { tone: 'plain', icon: Circle, words: 'New' },
  queued: { tone: 'plain', icon: Clock, words: 'Queued' },
  running: { tone: 'accent', icon: CircleDot, words: 'Running' },
  paused: { tone: 'caution', icon: Pause, words: 'Paused' },
  finished: { tone: 'good', icon: Check, words: 'Finished' },
  stopped: { tone: 'plain', icon: CircleStop, words: 'Stopped' },
  failed: { tone: 'bad', icon: TriangleAlert, words: 'Failed' },
  interrupted: { tone: 'caution', icon: Unplug, words: 'Interrupted' },
}

export const statusWords = (status: Status): string => statuses[status].words

/** Badge of a status. `finding`: most severe one of the diagnosis, since a run that ended with one is not simply fine. */
export function StatusBadge({ status, finding = null }: { status: Status; finding?: Remark | null }) {
  const { words, ...look } = statuses[status]
  if (finding === null) return <Badge {...look}>{words}</Badge>
  const isProblem = finding.severity === 'problem'
  return (
    <Tooltip text={finding.words}>
      <Badge tone={isProblem ? 'bad' : 'caution'} icon={TriangleAlert}>
        {words}
        <span className="sr-only">, {isProblem ? 'problem' : 'warning'} in the diagnosis</span>
      </Badge>
    </Tooltip>
  )
}

export const PassBadge = ({ passed }: { passed: boolean }) => (
  <Badge tone={passed ? 'good' : 'bad'} icon={passed ? Check : Ban}>
    {passed ? 'Passed' : 'Failed'}
  </Badge>
)

import { Ban, Check, Circle, CircleDot, CircleStop, Clock, Pause, TriangleAlert, Unplug } from 'lucide-react'
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

export function Badge({
  tone = 'plain',
  icon,
  children,
}: {
  tone?: Tone
  icon?: ReactNode
  children: ReactNode
}) {
  return (
    <span
      className={classes(
        'inline-flex h-5 shrink-0 items-center gap-1 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {icon}
      {children}
    </span>
  )
}

interface StatusLook {
  readonly tone: Tone
  readonly Icon: typeof Circle
  readonly words: string
}

/** Status of a run, or of a study that waits for a host. */
type Status = RunStatus | 'waiting'

const statuses: Readonly<Record<Status, StatusLook>> = {
  waiting: { tone: 'plain', Icon: Clock, words: 'Waiting' },
  new: { tone: 'plain', Icon: Circle, words: 'New' },
  queued: { tone: 'plain', Icon: Clock, words: 'Queued' },
  running: { tone: 'accent', Icon: CircleDot, words: 'Running' },
  paused: { tone: 'caution', Icon: Pause, words: 'Paused' },
  finished: { tone: 'good', Icon: Check, words: 'Finished' },
  stopped: { tone: 'plain', Icon: CircleStop, words: 'Stopped' },
  failed: { tone: 'bad', Icon: TriangleAlert, words: 'Failed' },
  interrupted: { tone: 'caution', Icon: Unplug, words: 'Interrupted' },
}

export const statusWords = (status: Status): string => statuses[status].words

/** Badge of a status. `finding`: most severe one of the diagnosis, since a run that ended with one is not simply fine. */
export function StatusBadge({ status, finding = null }: { status: Status; finding?: Remark | null }) {
  const { tone, Icon, words } = statuses[status]
  if (finding === null) {
    return (
      <Badge tone={tone} icon={<Icon size={11} aria-hidden />}>
        {words}
      </Badge>
    )
  }
  const isProblem = finding.severity === 'problem'
  return (
    <Tooltip text={finding.words}>
      <Badge tone={isProblem ? 'bad' : 'caution'} icon={<TriangleAlert size={11} aria-hidden />}>
        {words}
        <span className="sr-only">, {isProblem ? 'problem' : 'warning'} in the diagnosis</span>
      </Badge>
    </Tooltip>
  )
}

export const PassBadge = ({ passed }: { passed: boolean }) => (
  <Badge
    tone={passed ? 'good' : 'bad'}
    icon={passed ? <Check size={11} aria-hidden /> : <Ban size={11} aria-hidden />}
  >
    {passed ? 'Passed' : 'Failed'}
  </Badge>
)

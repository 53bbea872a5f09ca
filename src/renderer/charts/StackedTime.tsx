import { axisTime } from './ticks.ts'

export interface TimePart {
  readonly id: string
  readonly label: string
  readonly seconds: number
  /** A CSS colour. */
  readonly color: string
}

interface StackedTimeProps {
  readonly label: string
  readonly parts: readonly TimePart[]
  /** Of the whole; what the parts leave of it is shown as “other”. */
  readonly totalSeconds?: number | undefined
}

const fillers: readonly TimePart['color'][] = ['var(--run-1)', 'var(--run-5)', 'var(--run-3)', 'var(--run-4)']

/** The usual parts of a step, from the metrics of that names. */
export function timeParts(latest: Readonly<Record<string, number | null | undefined>>): readonly TimePart[] {
  const names = [
    ['time/rollout', 'Generate'],
    ['time/reward', 'Score'],
    ['time/score', 'Forward passes'],
    ['time/update', 'Learn'],
  ] as const
  return names.flatMap(([id, label], i) => {
    const seconds = latest[id]
    return typeof seconds === 'number' ? [{ id, label, seconds, color: fillers[i] ?? 'var(--faint)' }] : []
  })
}

/** Where the time of a step goes: one bar, its parts named under it with seconds and share. */
export function StackedTime({ label, parts, totalSeconds }: StackedTimeProps) {
  const sum = parts.reduce((total, { seconds }) => total + seconds, 0)
  const whole = Math.max(sum, totalSeconds ?? 0)
  const rest = whole - sum
  const shown =
    rest > whole * 0.005
      ? [...parts, { id: 'other', label: 'Other', seconds: rest, color: 'var(--line-strong)' }]
      : parts
  const share = (seconds: number) => (whole > 0 ? (seconds / whole) * 100 : 0)
  const words = shown.map((part) => `${part.label} ${axisTime(part.seconds)}`).join(', ')
  return (
    <figure className="min-w-0">
      <div
        role="img"
        aria-label={`${label}: ${words}`}
        className="flex h-3 gap-px overflow-hidden rounded-sm bg-raised"
      >
        {shown.map((part) => (
          <div key={part.id} style={{ width: `${String(share(part.seconds))}%`, background: part.color }} />
        ))}
      </div>
      <figcaption className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {shown.map((part) => (
          <span key={part.id} className="inline-flex items-center gap-1.5 whitespace-nowrap">
            <span className="size-2 rounded-sm" style={{ background: part.color }} />
            <span className="text-muted">{part.label}</span>
            <span className="font-mono tabular-nums">{axisTime(part.seconds)}</span>
            <span className="text-faint tabular-nums">{Math.round(share(part.seconds))} %</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

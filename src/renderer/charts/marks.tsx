import type { ChartEvent, EventKind } from './lines.ts'

interface LineMarkProps {
  readonly color: string
  readonly dash?: string | undefined
  readonly isThick?: boolean
}

export const LineMark = ({ color, dash, isThick = false }: LineMarkProps) => (
  <svg width={16} height={8} aria-hidden className="shrink-0">
    <path d="M0 4H16" stroke={color} strokeWidth={isThick ? 3 : 2} strokeDasharray={dash} />
  </svg>
)

export const eventColors: Readonly<Record<EventKind, string>> = {
  resume: 'var(--muted)',
  checkpoint: 'var(--faint)',
  alarm: 'var(--bad)',
  reward: 'var(--accent)',
  fork: 'var(--caution)',
  setting: 'var(--accent)',
}

const words: readonly (readonly [EventKind, string])[] = [
  ['checkpoint', 'checkpoint'],
  ['resume', 'resumed'],
  ['alarm', 'warning'],
  ['reward', 'reward changed'],
  ['fork', 'fork'],
  ['setting', 'settings changed'],
]

/** Legend of the dotted lines across the charts, one entry per kind. */
export function MarkLegend({ events }: { events: readonly ChartEvent[] }) {
  const kinds = words.filter(([kind]) => events.some((event) => event.kind === kind))
  if (kinds.length === 0) return null
  return (
    <ul aria-label="Marks in the charts" className="flex flex-wrap gap-x-3 text-sm text-muted">
      {kinds.map(([kind, title]) => (
        <li key={kind} className="flex items-center gap-1.5">
          <svg width={5} height={14} aria-hidden>
            <path d="M2.5 0V14" stroke={eventColors[kind]} strokeWidth={1.5} strokeDasharray="2 2" />
          </svg>
          {title}
        </li>
      ))}
    </ul>
  )
}

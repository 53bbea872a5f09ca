import type { ChartEvent, EventKind } from './points.ts'
import { eventColors } from './sceneSvg.ts'

const words: readonly (readonly [EventKind, string])[] = [
  ['checkpoint', 'checkpoint'],
  ['resume', 'resumed'],
  ['alarm', 'warning'],
  ['reward', 'reward changed'],
  ['setting', 'fork'],
]

/** What the dotted lines across the charts mean: of each kind that is there. */
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

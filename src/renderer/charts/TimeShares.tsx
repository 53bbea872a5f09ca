import { Bar, BarChart, Rectangle, Tooltip, XAxis, YAxis } from 'recharts'
import { formatNumber, formatShares } from '#renderer/client/format.ts'
import { axisTime } from './axes.ts'
import { useSize } from './useSize.ts'

const parts = [
  { id: 'time/rollout', label: 'Generate', color: 'var(--run-1)' },
  { id: 'time/reward', label: 'Score', color: 'var(--run-5)' },
  { id: 'time/score', label: 'Forward passes', color: 'var(--run-3)' },
  { id: 'time/update', label: 'Learn', color: 'var(--run-4)' },
  { id: 'other', label: 'Other', color: 'var(--line-strong)' },
] as const

type PartId = (typeof parts)[number]['id']

export interface TimeColumn {
  readonly step: number
  /** Mean duration of a whole step. */
  readonly seconds: number
  readonly parts: Readonly<Partial<Record<string, number | null>>>
}

/** Adds the time not covered by the parts as “other”. */
function stacked({ step, seconds, parts: known }: TimeColumn) {
  const told = parts.flatMap(({ id }) => {
    const value = known[id]
    return typeof value === 'number' ? [[id, value] as const] : []
  })
  const rest = seconds - told.reduce((sum, [, value]) => sum + value, 0)
  const values: Partial<Record<PartId, number>> = Object.fromEntries(told)
  return { step, seconds, values: rest > seconds * 0.005 ? { ...values, other: rest } : values }
}

/** Breaks down the time of a step: one bar, its parts listed below with seconds and share. */
export function StackedTime({ label, whole }: { label: string; whole: TimeColumn }) {
  const { size, setElement } = useSize()
  const row = stacked(whole)
  const shown = parts.flatMap((part) => {
    const seconds = row.values[part.id]
    return seconds === undefined ? [] : [{ ...part, seconds }]
  })
  const total = shown.reduce((sum, { seconds }) => sum + seconds, 0)
  const shares = formatShares(shown.map(({ seconds }) => seconds))
  const words = shown.map((part) => `${part.label} ${axisTime(part.seconds)}`).join(', ')
  return (
    <figure ref={setElement} className="min-w-0">
      <div role="img" aria-label={`${label}: ${words}`} className="h-3 overflow-hidden rounded-sm bg-raised">
        {size && (
          <BarChart
            width={size.width}
            height={12}
            data={[row]}
            {...bare}
            layout="vertical"
            barCategoryGap={0}
          >
            <XAxis type="number" domain={[0, total]} hide />
            <YAxis type="category" dataKey="step" hide />
            {shown.map(({ id, color }) => (
              <Bar key={id} {...still} dataKey={valueOf(id)} fill={color} stroke="var(--bg)" />
            ))}
          </BarChart>
        )}
      </div>
      <figcaption className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {shown.map((part, at) => (
          <span key={part.id} className="inline-flex items-center gap-1.5 whitespace-nowrap">
            <span className="size-2 rounded-sm" style={{ background: part.color }} />
            <span className="text-muted">{part.label}</span>
            <span className="font-mono tabular-nums">{axisTime(part.seconds)}</span>
            <span className="text-faint tabular-nums">{shares[at]}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

const bare = { margin: { left: 0, right: 0, top: 0, bottom: 0 }, accessibilityLayer: false }
const still = { stackId: 'time', isAnimationActive: false } as const
const valueOf = (id: PartId) => (row: ReturnType<typeof stacked>) => row.values[id] ?? 0

const height = 72

/** One stacked bar per range of steps, so that growing parts show at a glance. */
export function TimeColumns({ columns }: { columns: readonly TimeColumn[] }) {
  const { size, setElement } = useSize()
  const highest = Math.max(0, ...columns.map(({ seconds }) => seconds))
  if (columns.length < 2 || highest === 0) return null
  return (
    <div ref={setElement} aria-hidden className="flex flex-col gap-1">
      <div style={{ height }}>
        {size && (
          <BarChart
            width={size.width}
            height={height}
            data={columns.map(stacked)}
            {...bare}
            barCategoryGap={0.5}
          >
            <XAxis dataKey="step" hide />
            <YAxis domain={[0, highest]} hide />
            <Tooltip
              cursor={<Rectangle fill="var(--text)" fillOpacity={0.06} />}
              isAnimationActive={false}
              wrapperStyle={{ zIndex: 20 }}
              allowEscapeViewBox={{ y: true }}
              content={<ColumnFacts />}
            />
            {parts.map(({ id, color }) => (
              <Bar key={id} {...still} dataKey={valueOf(id)} fill={color} />
            ))}
          </BarChart>
        )}
      </div>
      <div className="flex justify-between font-mono text-xs text-faint tabular-nums">
        <span>step {columns[0]?.step}</span>
        <span>highest {formatNumber(highest)} s</span>
        <span>step {columns.at(-1)?.step}</span>
      </div>
    </div>
  )
}

interface FactsProps {
  readonly active?: boolean
  readonly payload?: readonly { readonly payload?: ReturnType<typeof stacked> }[]
}

function ColumnFacts({ active = false, payload = [] }: FactsProps) {
  const column = payload[0]?.payload
  if (!active || column === undefined) return null
  return (
    <div className="rounded border border-line bg-bg px-2 py-1 text-sm whitespace-nowrap shadow-float">
      <p className="text-faint tabular-nums">
        step {column.step}: {formatNumber(column.seconds)} s
      </p>
      <ul>
        {parts
          .filter(({ id }) => column.values[id] !== undefined)
          .map(({ id, label, color }) => (
            <li key={id} className="flex items-center gap-1.5">
              <span className="size-2 rounded-sm" style={{ background: color }} />
              <span className="text-muted">{label}</span>
              <span className="ml-auto font-mono tabular-nums">{axisTime(column.values[id] ?? 0)}</span>
            </li>
          ))}
      </ul>
    </div>
  )
}

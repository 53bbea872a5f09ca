import { memo, useMemo, type PointerEvent } from 'react'
import { AxisBrush, edge } from './AxisBrush.tsx'
import {
  isWithin,
  parallelAxis,
  type AxisSpec,
  type AxisValue,
  type Brushes,
  type ParallelAxis,
} from './parallelAxes.ts'
import type { ChartLine } from './lines.ts'
import { useSize } from './useSize.ts'

export interface ParallelRun extends Pick<ChartLine, 'id' | 'label' | 'color' | 'dash' | 'isBaseline'> {
  readonly values: Readonly<Record<string, AxisValue>>
}

interface ParallelProps {
  readonly title: string
  readonly axes: readonly AxisSpec[]
  /** Later runs are drawn on top of earlier ones. */
  readonly runs: readonly ParallelRun[]
  readonly brushes: Brushes
  readonly onBrush: (brushes: Brushes) => void
  readonly front: string | null
  readonly onFront: (id: string | null) => void
  readonly onOpen?: (id: string) => void
  readonly height?: number
  readonly hasLegend?: boolean
  readonly emptyText: string
}

/** Parallel coordinates: one axis per setting or metric, one line per run; brushing axes selects runs. */
export function ParallelCoordinates(props: ParallelProps) {
  const { title, axes, runs, front, onFront, height = 280, hasLegend = true, emptyText } = props
  const { size, setElement } = useSize()
  if (axes.length < 2 || runs.length === 0)
    return (
      <p className="flex items-center justify-center px-6 text-center text-sm text-faint" style={{ height }}>
        {emptyText}
      </p>
    )
  return (
    <div className="min-w-0">
      {/* Axes keep apart, so a narrow window scrolls sideways. */}
      <div ref={setElement} className="overflow-x-auto overflow-y-hidden" role="group" aria-label={title}>
        {size && (
          <Plane {...props} height={height} width={Math.max(size.width, axes.length * leastSpacing)} />
        )}
      </div>
      {hasLegend && <Legend axes={axes} runs={runs} front={front} onFront={onFront} />}
    </div>
  )
}

function Legend({ axes, runs, front, onFront }: Pick<ParallelProps, 'axes' | 'runs' | 'front' | 'onFront'>) {
  return (
    <ul className="flex flex-wrap gap-x-1 px-2 pb-2">
      {runs.map(({ id, label, color, values }) => (
        <li key={id}>
          <button
            type="button"
            className="flex h-6 items-center gap-1.5 rounded-sm px-1.5 text-sm text-muted hover:bg-raised hover:text-text"
            aria-pressed={front === id}
            onPointerEnter={() => onFront(id)}
            onPointerLeave={() => onFront(null)}
            onFocus={() => onFront(id)}
            onBlur={() => onFront(null)}
          >
            <span className="size-2 rounded-full" style={{ background: color }} />
            <span className="max-w-48 truncate">{label}</span>
            <span className="sr-only">
              {axes.map(({ key, label: name }) => `${name} ${String(values[key] ?? 'none')}`).join(', ')}
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}

const leastSpacing = 96
/** Largest distance between pointer and line for a hit, in px. */
const reachPx = 8

interface PlaneProps extends ParallelProps {
  readonly width: number
  readonly height: number
}

interface Trace extends ParallelRun {
  readonly shares: readonly (number | null)[]
}

interface Traced extends Pick<PlaneProps, 'runs' | 'brushes' | 'width' | 'height'> {
  readonly specs: PlaneProps['axes']
}

/** Runs as lines over the axes, and which of them lie within all brushes. */
function useTraces({ specs, runs, brushes, width, height }: Traced) {
  const axes = useMemo(
    () =>
      specs.map((spec) =>
        parallelAxis(
          spec,
          runs.map(({ values }) => values[spec.key] ?? null),
        ),
      ),
    [specs, runs],
  )
  const traces = useMemo(
    () =>
      runs.map((run): Trace => ({
        ...run,
        shares: axes.map(({ key, share }) => share(run.values[key] ?? null)),
      })),
    [axes, runs],
  )
  const within = useMemo(
    () => traces.map((trace) => isWithin(axes, trace.shares, brushes)),
    [axes, traces, brushes],
  )
  const places = useMemo((): Places => {
    const inner = height - edge.top - edge.bottom
    const step = (width - edge.left - edge.right) / (axes.length - 1)
    return { xs: axes.map((_, i) => edge.left + i * step), y: (share) => edge.top + (1 - share) * inner }
  }, [axes, width, height])
  const lines = useMemo(() => strokesOf(traces, within, places), [traces, within, places])
  return { axes, traces, within, places, lines }
}

function Plane({ axes: specs, runs, brushes, onBrush, front, onFront, onOpen, width, height }: PlaneProps) {
  const { axes, traces, within, places, lines } = useTraces({ specs, runs, brushes, width, height })
  const standing = traces.find(({ id }) => id === front)
  const pointAt = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    const box = currentTarget.getBoundingClientRect()
    const at = { x: clientX - box.left, y: clientY - box.top }
    onFront(
      nearest(
        traces.filter((_, i) => within[i]),
        places,
        at,
      ),
    )
  }
  return (
    <div
      className="relative"
      style={{ width, height, cursor: front !== null && onOpen ? 'pointer' : undefined }}
      onPointerMove={pointAt}
      onPointerLeave={() => onFront(null)}
      onClick={() => front !== null && onOpen?.(front)}
    >
      <svg width={width} height={height} aria-hidden className="absolute inset-0">
        <Lines lines={lines} isDimmed={standing !== undefined} />
        {standing && (
          <path
            d={pathOf(standing, places)}
            fill="none"
            stroke={standing.color}
            strokeWidth={3.5}
            strokeLinejoin="round"
          />
        )}
        {axes.map((axis, i) => (
          <AxisMarks
            key={axis.key}
            axis={axis}
            x={places.xs[i] ?? 0}
            y={places.y}
            room={(places.xs[1] ?? 0) - (places.xs[0] ?? 0)}
          />
        ))}
      </svg>
      {axes.map((axis, i) => (
        <AxisBrush
          key={axis.key}
          axis={axis}
          x={places.xs[i] ?? 0}
          height={height}
          brush={brushes[axis.key]}
          onBrush={(brush) => {
            const { [axis.key]: _, ...others } = brushes
            onBrush(brush === null ? others : { ...others, [axis.key]: brush })
          }}
        />
      ))}
    </div>
  )
}

/** Geometry of the plot, in px. */
interface Places {
  readonly xs: readonly number[]
  readonly y: (share: number) => number
}

/** Returns the SVG path of a run, interrupted at missing values. */
function pathOf({ shares }: Trace, { xs, y }: Places): string {
  let path = ''
  for (const [i, share] of shares.entries()) {
    if (share === null) continue
    const command = i > 0 && shares[i - 1] !== null ? 'L' : 'M'
    path += `${command}${(xs[i] ?? 0).toFixed(1)} ${y(share).toFixed(1)}`
  }
  return path
}

interface Stroke {
  readonly key: string
  readonly d: string
  readonly color: string | undefined
  readonly dash: string | undefined
  readonly isThick: boolean | undefined
}

interface Strokes {
  readonly faint: string
  readonly strokes: readonly Stroke[]
}

/**
 * Merges lines of the same look into one element: browsers draw a thousand of those well, but do not change them
 * thirty times a second.
 */
function strokesOf(traces: readonly Trace[], within: readonly boolean[], places: Places): Strokes {
  const look = ({ color, dash = '', isBaseline = false }: Trace) => `${color} ${dash} ${String(isBaseline)}`
  const shown = traces
    .filter((_, i) => within[i])
    .toSorted((a, b) => Number(a.isBaseline) - Number(b.isBaseline))
  return {
    faint: traces.flatMap((trace, i) => (within[i] ? [] : [pathOf(trace, places)])).join(''),
    strokes: [...Map.groupBy(shown, look)].map(([key, alike]) => ({
      key,
      d: alike.map((trace) => pathOf(trace, places)).join(''),
      color: alike[0]?.color,
      dash: alike[0]?.dash,
      isThick: alike[0]?.isBaseline,
    })),
  }
}

const Lines = memo(function Lines({
  lines: { faint, strokes },
  isDimmed,
}: {
  lines: Strokes
  isDimmed: boolean
}) {
  return (
    <g fill="none" strokeLinejoin="round">
      <path d={faint} stroke="var(--line)" strokeWidth={1} />
      <g opacity={isDimmed ? 0.3 : 0.9}>
        {strokes.map(({ key, d, color, dash, isThick }) => (
          <path key={key} d={d} stroke={color} strokeDasharray={dash} strokeWidth={isThick ? 3 : 1.5} />
        ))}
      </g>
    </g>
  )
})

/** Returns the run whose line passes nearest to a point. */
function nearest(traces: readonly Trace[], { xs, y }: Places, at: { x: number; y: number }): string | null {
  const after = Math.max(
    1,
    Math.min(
      xs.length - 1,
      xs.findIndex((x) => x > at.x),
    ),
  )
  const [from, to] = [xs[after - 1] ?? 0, xs[after] ?? 1]
  const share = (at.x - from) / (to - from)
  let best: { readonly id: string; readonly distance: number } | null = null
  for (const { id, shares } of traces) {
    const [a, b] = [shares[after - 1] ?? null, shares[after] ?? null]
    if (a === null || b === null) continue
    const distance = Math.abs(y(a + (b - a) * share) - at.y)
    if (distance <= (best?.distance ?? reachPx)) best = { id, distance }
  }
  return best?.id ?? null
}

const cut = (text: string, letters: number): string =>
  text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text

interface MarksProps {
  readonly axis: ParallelAxis
  readonly x: number
  readonly y: (share: number) => number
  /** Distance to the next axis, in px. */
  readonly room: number
}

const AxisMarks = memo(function AxisMarks({
  axis: { label, kind, ticks, gradient },
  x,
  y,
  room,
}: MarksProps) {
  const title = kind === 'log' ? `${label} (log)` : label
  const letters = Math.floor((room - 8) / 6.4)
  return (
    <g
      fontSize={12}
      fill="var(--muted)"
      stroke="var(--bg)"
      strokeWidth={4}
      paintOrder="stroke"
      strokeLinejoin="round"
    >
      <line x1={x} x2={x} y1={y(0)} y2={y(1)} stroke="var(--line-strong)" strokeWidth={1} />
      {gradient && <Ramp colors={gradient} x={x} y={y} />}
      <text x={x} y={16} textAnchor="middle" fill="var(--text)">
        <title>{title}</title>
        {title.length > letters ? cut(label, letters) : title}
      </text>
      {ticks.map(({ share, text }) => (
        <text key={text} x={x - 8} y={y(share)} dy="0.35em" textAnchor="end">
          <title>{text}</title>
          {cut(text, Math.max(6, Math.floor((room - 16) / 9)))}
        </text>
      ))}
    </g>
  )
})

/** Colour scale of the lines, drawn along the axis. */
const Ramp = ({ colors, x, y }: { colors: readonly string[] } & Pick<MarksProps, 'x' | 'y'>) => (
  <g stroke="none">
    {colors.map((color, i) => {
      const [bottom, top] = [y(i / colors.length), y((i + 1) / colors.length)]
      return <rect key={color} x={x + 5} width={5} y={top} height={bottom - top + 0.5} fill={color} />
    })}
  </g>
)

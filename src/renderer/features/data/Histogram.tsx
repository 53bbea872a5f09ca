import { useRef, type KeyboardEvent, type PointerEvent } from 'react'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'
import { useSize } from '#renderer/charts/useSize.ts'
import { wholeTicks, type Bin } from './histogram.ts'

interface HistogramProps {
  readonly label: string
  readonly bins: readonly Bin[]
  /** Of the horizontal axis. */
  readonly unit: string
  /** Where the line stands that can be moved: the last value that is kept. */
  readonly line: number
  readonly onLine: (at: number) => void
  /** Lines that only tell something. */
  readonly marks?: readonly { readonly at: number; readonly label: string }[]
}

const height = 320
const left = 44
const bottom = 24
const top = 24
const right = 16
const floor = height - bottom

/** Where values and counts stand on the drawing. */
interface Scales {
  readonly from: number
  readonly to: number
  readonly most: number
  readonly width: number
  readonly x: (value: number) => number
  readonly y: (count: number) => number
  /** The value at a place. */
  readonly valueAt: (x: number) => number
}

function scalesOf(bins: readonly Bin[], width: number): Scales {
  const from = bins[0]?.from ?? 0
  const last = bins.at(-1)?.to ?? from + 1
  // Some room behind the longest, so that a line that cuts nothing can be seen.
  const to = last + Math.max(1, Math.ceil((last - from) * 0.04))
  const most = Math.max(1, ...bins.map(({ count }) => count))
  const scale = (width - left - right) / (to - from)
  return {
    from,
    to,
    most,
    width,
    x: (value) => left + (value - from) * scale,
    y: (count) => floor - (count / most) * (floor - top),
    valueAt: (x) => from + (x - left) / scale,
  }
}

/** Bars over a number axis, with a line to be dragged or moved by arrow keys. */
export function Histogram(props: HistogramProps) {
  const { size, setElement } = useSize()
  return (
    <div ref={setElement} style={{ height }}>
      {size !== null && size.width > 0 && <Drawing {...props} width={size.width} />}
    </div>
  )
}

function Drawing({ width, ...props }: HistogramProps & { width: number }) {
  const { label, bins, unit, line, onLine, marks = [] } = props
  const svg = useRef<SVGSVGElement>(null)
  const scales = scalesOf(bins, width)
  const { from, to, x } = scales
  const drag = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined || event.buttons !== 1) return
    const value = Math.round(scales.valueAt(event.clientX - box.left)) - 1
    onLine(Math.min(to - 1, Math.max(from, value)))
  }
  return (
    <svg
      ref={svg}
      width={width}
      height={height}
      role="group"
      aria-label={label}
      className="block touch-none select-none"
      onPointerDown={drag}
      onPointerMove={drag}
    >
      <Axes scales={scales} />
      {bins.map((bin) => (
        <Bar key={bin.from} bin={bin} scales={scales} unit={unit} isCut={bin.from > line} />
      ))}
      {marks
        .filter(({ at }) => at >= from && at <= to)
        .map(({ at, label: name }) => (
          <g key={name}>
            <line x1={x(at)} x2={x(at)} y1={top} y2={floor} stroke="var(--muted)" strokeDasharray="2 3" />
            <text x={x(at) + 4} y={top - 6} fontSize={11} fill="var(--muted)">
              {name}
            </text>
          </g>
        ))}
      <Limit scales={scales} unit={unit} line={line} onLine={onLine} />
    </svg>
  )
}

function Axes({ scales: { from, to, most, width, x, y } }: { scales: Scales }) {
  return (
    <>
      {wholeTicks(0, most, 4).map((count) => (
        <g key={count}>
          <line x1={left} x2={width - right} y1={y(count)} y2={y(count)} stroke="var(--line)" />
          <text x={left - 6} y={y(count) + 4} textAnchor="end" fontSize={11} fill="var(--faint)">
            {formatCount(count)}
          </text>
        </g>
      ))}
      {wholeTicks(from, to, Math.max(4, Math.round(width / 90))).map((value) => (
        <text key={value} x={x(value)} y={height - 6} textAnchor="middle" fontSize={11} fill="var(--faint)">
          {formatNumber(value)}
        </text>
      ))}
    </>
  )
}

interface BarProps {
  readonly bin: Bin
  readonly scales: Scales
  readonly unit: string
  /** Behind the line. */
  readonly isCut: boolean
}

function Bar({ bin: { from, to, count }, scales: { x, y }, unit, isCut }: BarProps) {
  const words = to - from <= 1 ? formatNumber(from) : `${formatNumber(from)}–${formatNumber(to - 1)}`
  return (
    <rect
      x={x(from) + 0.5}
      y={y(count)}
      width={Math.max(1, x(to) - x(from) - 1)}
      height={floor - y(count)}
      style={{ fill: isCut ? 'var(--line-strong)' : 'color-mix(in srgb, var(--run-1) 72%, var(--bg))' }}
    >
      <title>{`${words} ${unit}: ${plural(count, 'row')}`}</title>
    </rect>
  )
}

interface LimitProps {
  readonly scales: Scales
  readonly unit: string
  readonly line: number
  readonly onLine: (at: number) => void
}

function Limit({ scales: { from, to, x }, unit, line, onLine }: LimitProps) {
  const move = (event: KeyboardEvent) => {
    const step = event.shiftKey ? Math.max(2, Math.round((to - from) / 20)) : 1
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key]
    if (by === undefined) return
    event.preventDefault()
    onLine(Math.min(to - 1, Math.max(from, line + by)))
  }
  // What is as long as the limit stays: the line stands behind it.
  const at = x(Math.min(to, Math.max(from, line + 1)))
  return (
    <g
      role="slider"
      tabIndex={0}
      aria-label={`Max prompt ${unit}, on the axis`}
      aria-valuemin={from}
      aria-valuemax={to - 1}
      aria-valuenow={Math.min(to - 1, Math.max(from, line))}
      onKeyDown={move}
      className="cursor-ew-resize"
    >
      <rect x={at - 12} y={0} width={24} height={floor} fill="transparent" />
      <line x1={at} x2={at} y1={top - 12} y2={floor} stroke="var(--accent)" strokeWidth={2} />
      <circle cx={at} cy={top - 12} r={5} fill="var(--accent)" />
    </g>
  )
}

import type { KeyboardEvent, PointerEvent } from 'react'
import {
  Bar,
  BarChart,
  LabelList,
  Rectangle,
  Tooltip,
  usePlotArea,
  useXAxisScale,
  XAxis,
  YAxis,
} from 'recharts'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'
import { wholeTicks } from './axes.ts'
import { NamedLine, PlotFrame, tick } from './PlotFrame.tsx'
import { useSize } from './useSize.ts'

export interface Bin {
  readonly from: number
  /** Upper bound, exclusive. */
  readonly to: number
  readonly count: number
}

interface HistogramProps {
  readonly label: string
  readonly bins: readonly Bin[]
  readonly unit: string
  /** Position of the movable line: the largest value that is kept. */
  readonly line: number
  readonly onLine: (at: number) => void
  /** Lines for information only, which cannot be moved. */
  readonly marks?: readonly { readonly at: number; readonly label: string }[]
}

const height = 320
const edge = { left: 44, right: 16, top: 24, bottom: 24 }

/** Bars over a number axis, with a line that can be dragged or moved with the arrow keys. */
export function Histogram(props: HistogramProps) {
  const { size, setElement } = useSize()
  return (
    <div ref={setElement} style={{ height }}>
      {size !== null && size.width > 0 && <Bins {...props} width={size.width} />}
    </div>
  )
}

const lengthAxis = (from: number, to: number, width: number) =>
  ({
    type: 'number',
    dataKey: 'middle',
    domain: [from, to],
    height: edge.bottom,
    ticks: wholeTicks(from, to, Math.max(4, Math.round(width / 90))),
    tickFormatter: formatNumber,
    axisLine: false,
    allowDataOverflow: true,
  }) as const

const countAxis = (most: number) =>
  ({
    domain: [0, most],
    ticks: wholeTicks(0, most, 4),
    tickFormatter: formatCount,
    width: edge.left,
  }) as const

function Bins({ width, label, bins, unit, line, onLine, marks = [] }: HistogramProps & { width: number }) {
  const from = bins[0]?.from ?? 0
  const last = bins.at(-1)?.to ?? from + 1
  // Some room after the longest, so that a line that cuts nothing is visible.
  const to = last + Math.max(1, Math.ceil((last - from) * 0.04))
  const most = Math.max(1, ...bins.map(({ count }) => count))
  const scale = (width - edge.left - edge.right) / (to - from)
  const drag = ({ buttons, clientX, currentTarget }: PointerEvent) => {
    if (buttons !== 1) return
    const x = clientX - currentTarget.getBoundingClientRect().left - edge.left
    onLine(Math.min(to - 1, Math.max(from, Math.round(from + x / scale) - 1)))
  }
  return (
    <div
      role="group"
      aria-label={label}
      className="touch-none select-none"
      onPointerDown={drag}
      onPointerMove={drag}
    >
      <BarChart
        width={width}
        height={height}
        margin={{ ...edge, left: 0, bottom: 0 }}
        accessibilityLayer={false}
        data={bins.map((bin) => ({ ...bin, middle: (bin.from + bin.to) / 2 }))}
      >
        <PlotFrame x={lengthAxis(from, to, width)} y={countAxis(most)} />
        <Tooltip cursor={false} isAnimationActive={false} content={<BinFacts unit={unit} />} />
        <Bar
          dataKey="count"
          isAnimationActive={false}
          shape={({ index, y, height: tall }) => (
            <BinBar bin={bins[index]} line={line} left={edge.left - from * scale} {...{ scale, y, tall }} />
          )}
        />
        {marks
          .filter(({ at }) => at >= from && at <= to)
          .map(({ at, label: name }) => (
            <NamedLine key={name} x={at} name={name} isBeside />
          ))}
        <Limit from={from} to={to} unit={unit} line={line} onLine={onLine} />
      </BarChart>
    </div>
  )
}

interface BinBarProps {
  readonly bin: Bin | undefined
  readonly line: number
  /** X of the value 0 in px, and px per unit. */
  readonly left: number
  readonly scale: number
  readonly y: number
  readonly tall: number
}

const BinBar = ({ bin = { from: 0, to: 0, count: 0 }, line, left, scale, y, tall }: BinBarProps) => (
  <Rectangle
    x={left + bin.from * scale + 0.5}
    y={y}
    width={Math.max(1, (bin.to - bin.from) * scale - 1)}
    height={tall}
    fill={bin.from > line ? 'var(--line-strong)' : 'color-mix(in srgb, var(--run-1) 72%, var(--bg))'}
  />
)

interface LimitProps extends Pick<HistogramProps, 'unit' | 'line' | 'onLine'> {
  readonly from: number
  readonly to: number
}

function Limit({ from, to, unit, line, onLine }: LimitProps) {
  const scale = useXAxisScale()
  const area = usePlotArea()
  const move = (event: KeyboardEvent) => {
    const step = event.shiftKey ? Math.max(2, Math.round((to - from) / 20)) : 1
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key]
    if (by === undefined) return
    event.preventDefault()
    onLine(Math.min(to - 1, Math.max(from, line + by)))
  }
  // Values equal to the limit stay, so the line is after them.
  const at = scale?.(Math.min(to, Math.max(from, line + 1)))
  if (at === undefined || area === undefined) return null
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
      <rect x={at - 12} y={0} width={24} height={area.y + area.height} fill="transparent" />
      <line
        x1={at}
        x2={at}
        y1={area.y - 12}
        y2={area.y + area.height}
        stroke="var(--accent)"
        strokeWidth={2}
      />
      <circle cx={at} cy={area.y - 12} r={5} fill="var(--accent)" />
    </g>
  )
}

interface FactsProps {
  readonly unit: string
  readonly active?: boolean
  readonly payload?: readonly { readonly payload?: Bin }[]
}

function BinFacts({ unit, active = false, payload = [] }: FactsProps) {
  const bin = payload[0]?.payload
  if (!active || bin === undefined) return null
  const { from, to, count } = bin
  const words = to - from <= 1 ? formatNumber(from) : `${formatNumber(from)}–${formatNumber(to - 1)}`
  return (
    <p className="rounded border border-line bg-bg px-2 py-1 text-sm whitespace-nowrap tabular-nums shadow-float">
      {words} {unit}: {plural(count, 'row')}
    </p>
  )
}

export interface Count {
  readonly label: string
  readonly count: number
  readonly color: string
}

const labelAxis = {
  dataKey: 'label',
  tick,
  tickLine: false,
  height: 22,
  interval: 0,
  axisLine: { stroke: 'var(--line)' },
}

/** Bars with their counts on top and their labels below. */
export function CountBars({ label, bars }: { label: string; bars: readonly Count[] }) {
  const { size, setElement } = useSize()
  return (
    <div ref={setElement} className="h-36 min-w-0">
      <ul className="sr-only" aria-label={label}>
        {bars.map((bar) => (
          <li key={bar.label}>
            {bar.label}: {formatCount(bar.count)}
          </li>
        ))}
      </ul>
      {size && (
        <div aria-hidden>
          <BarChart
            width={size.width}
            height={144}
            margin={{ left: 0, right: 0, top: 18, bottom: 0 }}
            accessibilityLayer={false}
            data={bars}
            barCategoryGap={2}
          >
            <XAxis {...labelAxis} />
            <YAxis hide domain={[0, Math.max(1, ...bars.map(({ count }) => count))]} />
            <Bar
              dataKey="count"
              isAnimationActive={false}
              minPointSize={1}
              shape={({ index, x, y, width, height: tall }) => (
                <Rectangle
                  {...{ x, y, width }}
                  height={tall}
                  radius={[3, 3, 0, 0]}
                  fill={bars[index]?.color ?? 'none'}
                />
              )}
            >
              <LabelList dataKey="count" position="top" fontSize={12} fill="var(--muted)" />
            </Bar>
          </BarChart>
        </div>
      )}
    </div>
  )
}

import { extent } from 'd3-array'
import { ScatterChart as Chart, Label, Scatter, Tooltip } from 'recharts'
import {
  axisNumber,
  axisNumber3,
  logTicks,
  ticksAlong,
  valueAxis,
  type Range,
  type ScaleKind,
} from './axes.ts'
import { PlotFrame } from './PlotFrame.tsx'
import type { ChartLine } from './lines.ts'
import { useSize } from './useSize.ts'

export interface ScatterDot extends Pick<ChartLine, 'id' | 'label' | 'color' | 'isBaseline'> {
  /** Number, or a word that gets a column of its own. */
  readonly x: number | string
  readonly y: number
}

interface ScatterProps {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  readonly dots: readonly ScatterDot[]
  readonly xScale?: ScaleKind
  readonly height?: number
  readonly emptyText: string
  readonly onOpen?: (id: string) => void
}

const margin = { left: 0, right: 16, top: 20, bottom: 12 }

const written = (x: number | string): string => (typeof x === 'number' ? axisNumber3(x) : x)

/** One dot per run: a setting or number against a metric. */
export function ScatterChart({ height = 280, ...props }: ScatterProps) {
  const { title, dots, xLabel, yLabel } = props
  const { size, setElement } = useSize()
  return (
    <div ref={setElement} className="min-w-0" style={{ height }} role="group" aria-label={title}>
      {dots.length === 0 ? (
        <p className="flex h-full items-center justify-center px-6 text-center text-sm text-faint">
          {props.emptyText}
        </p>
      ) : (
        size && <Dots {...props} width={size.width} height={height} />
      )}
      <ul className="sr-only">
        {dots.map((dot) => (
          <li key={dot.id}>
            {dot.label}: {xLabel} {written(dot.x)}, {yLabel} {axisNumber3(dot.y)}
          </li>
        ))}
      </ul>
    </div>
  )
}

const labelLook = { fontSize: 12, fill: 'var(--muted)' } as const

function Dots({
  dots,
  xLabel,
  yLabel,
  xScale = 'linear',
  onOpen,
  ...size
}: ScatterProps & { width: number; height: number }) {
  const y = valueAxis(
    dots.map((dot) => dot.y),
    'linear',
  )
  return (
    <div aria-hidden>
      <Chart {...size} margin={margin} accessibilityLayer={false} className="text-sm">
        <PlotFrame
          x={{
            ...alongX(dots, xScale),
            dataKey: 'x',
            interval: 'preserveEnd',
            children: <Label value={xLabel} position="insideBottomRight" offset={-10} {...labelLook} />,
          }}
          y={{
            dataKey: 'y',
            domain: [...y.domain],
            ticks: y.ticks,
            tickFormatter: axisNumber,
            width: 52,
            interval: 'preserveEnd',
            children: (
              <Label value={yLabel} position="top" offset={8} dx={-20} textAnchor="start" {...labelLook} />
            ),
          }}
        />
        <Tooltip cursor={false} isAnimationActive={false} content={<DotFacts />} />
        {dots.map((dot) => (
          <Scatter
            key={dot.id}
            data={[dot]}
            isAnimationActive={false}
            onClick={() => onOpen?.(dot.id)}
            shape={<Mark dot={dot} />}
            activeShape={<Mark dot={dot} radius={7} />}
          />
        ))}
      </Chart>
    </div>
  )
}

/** Returns a padded number scale, or one column per word. */
function alongX(dots: readonly ScatterDot[], scale: ScaleKind) {
  const numbers = dots.map(({ x }) => x).filter((x) => typeof x === 'number')
  const [low, high] = extent(numbers)
  if (numbers.length < dots.length || low === undefined) {
    const names = [...new Set(dots.map(({ x }) => String(x)))]
    return {
      type: 'category',
      domain: names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
      allowDuplicatedCategory: false,
      tickFormatter: (name: string) => (name.length > 18 ? `${name.slice(0, 17)}…` : name),
    } as const
  }
  const { domain, scale: kind } = valueAxis(numbers, scale)
  const room = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.5 || 1
  const ends: Range = kind === 'log' ? domain : [low - room, high + room]
  const ticks = kind === 'log' ? logTicks(...ends) : ticksAlong(numbers, ends)
  return { type: 'number', scale: kind, domain: [...ends], ticks, tickFormatter: axisNumber } as const
}

interface MarkProps {
  readonly dot: ScatterDot
  readonly radius?: number
  readonly cx?: number
  readonly cy?: number
}

const Mark = ({ dot: { color, isBaseline = false }, radius = 5, cx, cy }: MarkProps) => (
  <circle
    cx={cx}
    cy={cy}
    r={radius}
    fill={color}
    fillOpacity={0.85}
    stroke={isBaseline ? 'var(--text)' : 'var(--bg)'}
    strokeWidth={isBaseline ? 2 : 1}
  />
)

interface FactsProps {
  readonly active?: boolean
  readonly payload?: readonly { readonly payload?: ScatterDot }[]
}

function DotFacts({ active = false, payload = [] }: FactsProps) {
  const dot = payload[0]?.payload
  if (!active || dot === undefined) return null
  return (
    <p className="rounded border border-line bg-bg px-2 py-1 text-sm whitespace-nowrap shadow-float">
      {dot.label}{' '}
      <span className="font-mono text-muted tabular-nums">
        {written(dot.x)} → {axisNumber3(dot.y)}
      </span>
    </p>
  )
}

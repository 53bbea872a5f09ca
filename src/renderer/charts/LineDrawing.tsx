/** The static part of a panel: axes, curves, bands, marks. `LinePlot.tsx` adds what follows the pointer. */
import { bisectCenter } from 'd3-array'
import { Fragment, memo, useId, useMemo, type ReactNode, type SVGProps } from 'react'
import {
  ComposedChart,
  Curve,
  Line,
  ReferenceDot,
  ReferenceLine,
  usePlotArea,
  useXAxisScale,
  useYAxisScale,
} from 'recharts'
import { useKept } from '#renderer/client/settled.ts'
import { axisNumber, xAxisSpecs } from './axes.ts'
import { eventColors } from './marks.tsx'
import { PlotFrame } from './PlotFrame.tsx'
import type { Plot, PlottedLine } from './plot.ts'

export const edge = { left: 46, right: 16, top: 8, bottom: 20 } as const
const margin = { left: 0, right: edge.right, top: edge.top, bottom: 0 }
/** Recharts props of lines that do not react to the pointer; only the tooltip moves. */
const still = { dot: false, activeDot: false, isAnimationActive: false, legendType: 'none' } as const

const wholeData: [string, string] = ['dataMin', 'dataMax']

interface DrawingProps {
  readonly plot: Plot
  readonly width: number
  readonly height: number
  readonly syncId?: string
  readonly children?: ReactNode
}

/** Draws the lines of a panel, on the page and in exported files. */
export function LineDrawing({ plot, width, height, syncId, children }: DrawingProps) {
  const { xTicks, lines, rows, events } = plot
  // A new axis object would make Recharts lay out every line again.
  const y = useKept(plot.y)
  const domain = useMemo(() => [...y.domain], [y])
  const [low, high] = y.domain
  const tickHeight = Math.min(1, 8 / Math.max(1, height - edge.top - edge.bottom))
  const gapTop = y.scale === 'log' ? low * (high / low) ** tickHeight : low + (high - low) * tickHeight
  return (
    <ComposedChart
      width={width}
      height={height}
      margin={margin}
      accessibilityLayer={false}
      data={rows}
      syncMethod={nearestTick}
      {...(syncId === undefined ? {} : { syncId })}
    >
      <PlotFrame
        x={{
          type: 'number',
          dataKey: 'x',
          domain: wholeData,
          ticks: xTicks,
          height: edge.bottom,
          tickFormatter: xAxisSpecs[plot.xAxis].write,
        }}
        y={{
          type: 'number',
          scale: y.scale,
          domain,
          ticks: y.ticks,
          tickFormatter: axisNumber,
          width: edge.left,
          tickSize: 2,
          tickMargin: 3,
          allowDataOverflow: plot.isClipped,
        }}
      />
      {events.map(({ id, x: at, kind, color, label }) => (
        <ReferenceLine
          key={`event ${id}`}
          x={at}
          stroke={color ?? eventColors[kind]}
          strokeDasharray="2 3"
          shape={<Titled text={label} />}
        />
      ))}
      <Background plot={plot} />
      {lines.map((line) => lineOf(line, lines.length))}
      {lines.flatMap((line) => marksOf(line, low, gapTop))}
      {children}
    </ComposedChart>
  )
}

interface TitledProps extends SVGProps<SVGLineElement> {
  readonly text: string
}

const Titled = ({ text, x1, x2, y1, y2, stroke, strokeDasharray }: TitledProps) => (
  <line {...{ x1, x2, y1, y2, stroke, strokeDasharray }}>
    <title>{text}</title>
  </line>
)

/** Distance within which a panel follows another panel's cursor to its own nearest value, in px. */
const reachPx = 12

interface Tick {
  readonly value: unknown
  readonly coordinate: number
}

/** Returns the index of the tick nearest to another panel's cursor, or -1 if none is near. */
function nearestTick(ticks: readonly Tick[], { activeLabel }: { activeLabel?: string | number | undefined }) {
  const values = ticks.map(({ value }) => Number(value))
  const at = Number(activeLabel)
  const index = bisectCenter(values, at)
  const [first, last] = [ticks[0], ticks.at(-1)]
  const [nearest = NaN, from = NaN, to = NaN] = [values[index], values[0], values.at(-1)]
  const scale = first && last && to > from ? (last.coordinate - first.coordinate) / (to - from) : Infinity
  return nearest === at || Math.abs(nearest - at) * scale <= reachPx ? index : -1
}

const lineOf = ({ id, key, color, dash, isBaseline }: PlottedLine, count: number) => (
  <Line
    key={id}
    {...still}
    dataKey={key}
    stroke={color}
    // Fewer lines may be thicker.
    strokeWidth={isBaseline ? 2.5 : count > 20 ? 1 : 1.5}
    strokeLinejoin="round"
    {...(dash === undefined ? {} : { strokeDasharray: dash })}
  />
)

/**
 * Bands and unsmoothed values. Nothing points at them, so they are Recharts' curves on its scales without the state
 * of a <Line>, which is most of the cost of one.
 */
const Background = memo(function Background({ plot: { lines, rows, isClipped } }: { plot: Plot }) {
  const [x, y, area, clipId] = [useXAxisScale(), useYAxisScale(), usePlotArea(), useId()]
  if (!x || !y || !area) return null
  const places = rows.map((row) => x(row.x) ?? null)
  const pointsOf = (key: string, end: 0 | 1 = 0) =>
    rows.map((row, i) => {
      const values = row[key]
      const value = typeof values === 'number' ? values : values?.[end]
      return { x: places[i] ?? null, y: value === undefined ? null : (y(value) ?? null) }
    })
  return (
    <g {...(isClipped && { clipPath: `url(#${clipId})` })}>
      {isClipped && (
        <clipPath id={clipId}>
          <rect {...area} />
        </clipPath>
      )}
      {lines.map(({ id, key, hasBand, hasRaw, color }) => (
        <Fragment key={id}>
          {hasBand && (
            <Curve
              points={pointsOf(`${key} band`, 1)}
              baseLine={pointsOf(`${key} band`)}
              fill={color}
              fillOpacity={0.16}
            />
          )}
          {hasRaw && (
            <Curve points={pointsOf(`${key} raw`)} fill="none" stroke={color} strokeOpacity={0.25} />
          )}
        </Fragment>
      ))}
    </g>
  )
})

/** Marks isolated values, NaN or infinite values, and values outside a log scale. */
function marksOf({ id, color, lone, gaps, clampedAt }: PlottedLine, low: number, gapTop: number) {
  return [
    ...lone.map(({ x, y }) => (
      <ReferenceDot key={`${id} lone ${String(x)}`} x={x} y={y} r={2.5} fill={color} stroke="none" />
    )),
    ...gaps.map((x) => (
      <ReferenceLine
        key={`${id} gap ${String(x)}`}
        segment={[
          { x, y: low },
          { x, y: gapTop },
        ]}
        stroke="var(--bad)"
        strokeWidth={2}
      />
    )),
    ...clampedAt.map((x) => (
      <ReferenceDot
        key={`${id} clamped ${String(x)}`}
        x={x}
        y={low}
        shape={({ cx = 0, cy = 0 }: { cx?: number; cy?: number }) => (
          <path d={`M${String(cx - 3)} ${String(cy - 5)}h6l-3 5z`} fill={color} />
        )}
      />
    )),
  ]
}

import { memo } from 'react'
import { Area, CartesianGrid, ComposedChart, Line, ReferenceDot, ReferenceLine, XAxis, YAxis } from 'recharts'
import type { Dot } from './points.ts'
import { plotMargin, strokeWidth, type Scene, type SceneLine } from './scene.ts'
import { eventColors } from './sceneSvg.ts'

export interface PlotProps {
  readonly scene: Scene
  readonly width: number
  readonly height: number
}

const tick = { fontSize: 11, fill: 'var(--faint)' }
const margin = { left: 0, right: plotMargin.right, top: plotMargin.top, bottom: 0 }

interface Row {
  readonly x: number
  readonly y: number | null
}

/** Pieces as one list with an empty row between them. */
const rowsOf = (pieces: readonly (readonly Dot[])[]): Row[] =>
  pieces.flatMap((dots, i): readonly Row[] => {
    const first = dots[0]
    return i === 0 || !first ? dots : [{ x: first.x, y: null }, ...dots]
  })

/** The lines of a panel as paths. Knows nothing of the pointer: what follows it lies above. */
export const RechartsPlot = memo(function RechartsPlot({ scene, width, height }: PlotProps) {
  const texts = new Map(
    [...scene.xTicks, ...scene.yTicks.map(({ at, text }) => ({ at: at, text }))].map(({ at, text }) => [
      at,
      text,
    ]),
  )
  const write = (at: number): string => texts.get(at) ?? String(at)
  const [low, high] = scene.y.domain
  const bottom = {
    low,
    tick: scene.y.valueAt(Math.min(1, 8 / Math.max(1, height - plotMargin.top - plotMargin.bottom))),
  }
  return (
    <ComposedChart width={width} height={height} margin={margin} accessibilityLayer={false} data={[]}>
      <CartesianGrid vertical={false} syncWithTicks stroke="var(--line)" />
      <XAxis
        type="number"
        dataKey="x"
        domain={[...scene.x.domain]}
        ticks={scene.xTicks.map(({ at }) => at)}
        tickFormatter={write}
        tick={tick}
        tickLine={false}
        axisLine={{ stroke: 'var(--line)' }}
        height={plotMargin.bottom}
        interval={0}
        allowDataOverflow
      />
      <YAxis
        type="number"
        scale={scene.y.kind}
        domain={[low, high]}
        ticks={scene.yTicks.map(({ at }) => at)}
        tickFormatter={write}
        tick={tick}
        tickLine={false}
        axisLine={false}
        width={plotMargin.left}
        tickSize={2}
        tickMargin={3}
        interval={0}
        allowDataOverflow
      />
      {scene.events.map(({ id, x, kind, color }) => (
        <ReferenceLine key={`event ${id}`} x={x} stroke={color ?? eventColors[kind]} strokeDasharray="2 3" />
      ))}
      {scene.lines.flatMap((line) => linesOf(line, scene.lines.length))}
      {scene.lines.flatMap((line) => marksOf(line, bottom))}
    </ComposedChart>
  )
})

function linesOf(line: SceneLine, count: number) {
  const shared = { dot: false, isAnimationActive: false, activeDot: false, legendType: 'none' } as const
  const parts = []
  if (line.band.length > 1)
    parts.push(
      <Area
        key={`${line.id} band`}
        {...shared}
        data={line.band.map(({ x, low, high }) => ({ x, range: [low, high] }))}
        dataKey="range"
        stroke="none"
        fill={line.color}
        fillOpacity={0.16}
      />,
    )
  if (line.raw.length > 0)
    parts.push(
      <Line
        key={`${line.id} raw`}
        {...shared}
        data={rowsOf(line.raw)}
        dataKey="y"
        stroke={line.color}
        strokeOpacity={0.25}
        strokeWidth={1}
      />,
    )
  parts.push(
    <Line
      key={line.id}
      {...shared}
      data={rowsOf(line.main)}
      dataKey="y"
      stroke={line.color}
      strokeWidth={strokeWidth(line, count)}
      {...(line.dash === undefined ? {} : { strokeDasharray: line.dash })}
    />,
  )
  return parts
}

/** Lone values, values that were no number, and values a logarithm does not have. */
function marksOf(line: SceneLine, bottom: { readonly low: number; readonly tick: number }) {
  return [
    ...line.lone.map(({ x, y }) => (
      <ReferenceDot
        key={`${line.id} lone ${String(x)}`}
        x={x}
        y={y}
        r={2.5}
        fill={line.color}
        stroke="none"
      />
    )),
    ...line.gaps.map((x) => (
      <ReferenceLine
        key={`${line.id} gap ${String(x)}`}
        segment={[
          { x, y: bottom.low },
          { x, y: bottom.tick },
        ]}
        stroke="var(--bad)"
        strokeWidth={2}
      />
    )),
    ...line.clampedAt.map((x) => (
      <ReferenceDot
        key={`${line.id} clamped ${String(x)}`}
        x={x}
        y={bottom.low}
        shape={({ cx = 0, cy = 0 }: { cx?: number; cy?: number }) => (
          <path d={`M${String(cx - 3)} ${String(cy - 5)}h6l-3 5z`} fill={line.color} />
        )}
      />
    )),
  ]
}

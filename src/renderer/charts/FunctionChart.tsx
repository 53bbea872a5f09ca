import { extent, ticks as ticksOf } from 'd3-array'
import { useMemo } from 'react'
import { ComposedChart, Label, Line, ReferenceLine, Tooltip } from 'recharts'
import { axisNumber, readNumber, valueAxis } from './axes.ts'
import type { ChartLine } from './lines.ts'
import { LineMark } from './marks.tsx'
import { NamedLine, PlotFrame } from './PlotFrame.tsx'
import { useSize } from './useSize.ts'

export interface FunctionLine extends Pick<ChartLine, 'id' | 'label' | 'color' | 'dash'> {
  /** One value per point; null where it is not finite. */
  readonly values: readonly (number | null)[]
}

interface FunctionChartProps {
  readonly title: string
  readonly xLabel: string
  readonly points: readonly number[]
  readonly lines: readonly FunctionLine[]
  /** Dotted vertical line. */
  readonly mark: { readonly at: number; readonly label: string } | null
  /** Charts with the same id follow each other's pointer. */
  readonly syncId: string
}

const margin = { left: 0, right: 16, top: 20, bottom: 4 }
const xHeight = 36

/** Plots functions of one number, filling the available height. */
export function FunctionChart(props: FunctionChartProps) {
  const { title, xLabel, points, lines } = props
  const { size, setElement } = useSize()
  return (
    <figure className="flex min-h-44 min-w-0 grow flex-col" aria-label={title}>
      <figcaption className="pl-4 text-sm font-medium text-muted">{title}</figcaption>
      <div ref={setElement} className="relative min-h-0 grow">
        {size !== null && size.width > 0 && size.height > 0 && (
          <div className="absolute inset-0" aria-hidden>
            <Drawing {...props} {...size} />
          </div>
        )}
      </div>
      <ul className="sr-only">
        {lines.map(({ id, label, values }) => (
          <li key={id}>
            {label}: {summaryOf(values, points, xLabel)}
          </li>
        ))}
      </ul>
    </figure>
  )
}

/** Joins the values of all lines at a point, by their ids. */
const useRows = (points: readonly number[], lines: readonly FunctionLine[]) =>
  useMemo(
    () =>
      points.map((x, i) => ({
        x,
        ...Object.fromEntries(lines.map(({ id, values }) => [id, values[i] ?? null])),
      })),
    [points, lines],
  )

function Drawing(props: FunctionChartProps & { readonly width: number; readonly height: number }) {
  const { xLabel, points, lines, mark, syncId, width, height } = props
  const rows = useRows(points, lines)
  const y = valueAxis(
    lines.flatMap(({ values }) => values.filter((value) => value !== null)),
    'linear',
  )
  const [from = 0, to = 1] = extent(points)
  return (
    <ComposedChart
      {...{ width, height, margin, syncId }}
      accessibilityLayer={false}
      data={rows}
      className="text-sm"
    >
      <PlotFrame
        x={{
          type: 'number',
          dataKey: 'x',
          domain: [from, to],
          height: xHeight,
          tickFormatter: axisNumber,
          ticks: ticksOf(from, to, Math.max(3, Math.round(width / 90))),
          children: (
            <Label value={xLabel} position="insideBottom" offset={2} fontSize={12} fill="var(--muted)" />
          ),
        }}
        y={{ type: 'number', domain: [...y.domain], ticks: y.ticks, tickFormatter: axisNumber, width: 52 }}
      />
      <ReferenceLine y={0} stroke="var(--line-strong)" />
      {mark !== null && mark.at >= from && mark.at <= to && <NamedLine x={mark.at} name={mark.label} />}
      <Tooltip
        isAnimationActive={false}
        cursor={{ stroke: 'var(--muted)' }}
        content={<Readout xLabel={xLabel} lines={lines} />}
      />
      {lines.map(({ id, color, dash }) => (
        <Line
          key={id}
          dataKey={id}
          stroke={color}
          strokeWidth={dash === undefined ? 2 : 1.5}
          dot={false}
          activeDot={{ r: 3 }}
          isAnimationActive={false}
          legendType="none"
          {...(dash === undefined ? {} : { strokeDasharray: dash })}
        />
      ))}
    </ComposedChart>
  )
}

interface ReadoutProps {
  readonly xLabel: string
  readonly lines: readonly FunctionLine[]
  readonly active?: boolean
  readonly label?: string | number
  readonly payload?: readonly { readonly dataKey?: unknown; readonly value?: unknown }[]
}

function Readout({ xLabel, lines, active = false, label, payload = [] }: ReadoutProps) {
  if (!active || label === undefined) return null
  return (
    <div className="rounded border border-line bg-bg px-2 py-1 text-sm whitespace-nowrap shadow-float">
      <p className="text-faint tabular-nums">
        {xLabel} {readNumber(Number(label))}
      </p>
      <ul>
        {lines.map(({ id, label: name, color, dash }) => {
          const value = payload.find(({ dataKey }) => dataKey === id)?.value
          return (
            <li key={id} className="flex items-center gap-1.5">
              <LineMark color={color} dash={dash} />
              <span className="text-muted">{name}</span>
              <span className="ml-auto pl-3 font-mono tabular-nums">
                {typeof value === 'number' ? readNumber(value) : 'not finite'}
              </span>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** Describes a line to screen readers by its two ends and its middle. */
function summaryOf(values: FunctionLine['values'], points: readonly number[], xLabel: string): string {
  const places = [0, Math.floor(points.length / 2), points.length - 1]
  const said = places.map((i) => {
    const value = values[i]
    return `${value == null ? 'not finite' : readNumber(value)} at ${xLabel} ${readNumber(points[i] ?? 0)}`
  })
  return said.join(', ')
}

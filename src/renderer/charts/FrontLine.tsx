import { Curve, useXAxisScale, useYAxisScale } from 'recharts'
import { useFront } from './front.tsx'
import type { ChartLine, Dot } from './lines.ts'
import type { Plot } from './plot.ts'

interface FrontLineProps {
  readonly plot: Plot
  /** Lines that are drawn only in front: in place of the plot's line of the same id, or in addition. */
  readonly others: readonly ChartLine[]
}

/** Largest number of points for which each is drawn as a dot. */
const maxDots = 40

/** Redraws the highlighted line thick and on top of the others, which fade (`LinePlot.tsx`). */
export function FrontLine({ plot, others }: FrontLineProps) {
  const front = useFront()
  const [x, y] = [useXAxisScale(), useYAxisScale()]
  const line = front === null ? undefined : lineOf(front, plot, others)
  if (!line || !x || !y) return null
  const [from, to] = plot.x
  const points = line.dots
    .filter((dot) => dot.x >= from && dot.x <= to)
    .map((dot) => ({ x: x(dot.x) ?? null, y: y(dot.y) ?? null }))
  return (
    <g data-front={line.id} pointerEvents="none">
      <Curve points={points} fill="none" stroke="var(--bg)" strokeWidth={6} />
      <Curve
        points={points}
        fill="none"
        stroke={line.color}
        strokeWidth={3}
        strokeLinejoin="round"
        {...(line.dash === undefined ? {} : { strokeDasharray: line.dash })}
      />
      {points.length <= maxDots &&
        points.map((point, i) => (
          <circle key={i} cx={point.x ?? 0} cy={point.y ?? 0} r={3.5} fill={line.color} stroke="var(--bg)" />
        ))}
    </g>
  )
}

function lineOf(id: string, plot: Plot, others: readonly ChartLine[]) {
  const other = others.find((line) => line.id === id)
  if (other) return { ...other, dots: other.points.map(({ endX, mean }): Dot => ({ x: endX, y: mean })) }
  const plotted = plot.lines.find((line) => line.id === id)
  return plotted && { ...plotted, dots: plotted.drawn }
}

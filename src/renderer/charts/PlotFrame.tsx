import type { ComponentProps } from 'react'
import { CartesianGrid, ReferenceLine, XAxis, YAxis } from 'recharts'

export const tick = { fontSize: 11, fill: 'var(--faint)' }
const plain = { tick, tickLine: false, interval: 0 } as const

interface FrameProps {
  readonly x: ComponentProps<typeof XAxis>
  readonly y: ComponentProps<typeof YAxis>
}

/** Grid and axes of a plot, which say only their scale. */
export const PlotFrame = ({ x, y }: FrameProps) => (
  <>
    <CartesianGrid vertical={false} syncWithTicks stroke="var(--line)" />
    <XAxis {...plain} axisLine={{ stroke: 'var(--line)' }} {...x} />
    <YAxis {...plain} axisLine={false} {...y} />
  </>
)

/** Dotted vertical line with its name at the top, beside the line if that is asked for. */
export const NamedLine = ({ x, name, isBeside = false }: { x: number; name: string; isBeside?: boolean }) => (
  <ReferenceLine
    x={x}
    stroke="var(--muted)"
    strokeDasharray="2 3"
    label={{
      ...tick,
      value: name,
      position: 'top',
      fill: 'var(--muted)',
      ...(isBeside ? { dx: 4, textAnchor: 'start' } : {}),
    }}
  />
)

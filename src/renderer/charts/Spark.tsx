import { extent } from 'd3-array'
import { classes } from '#renderer/kit/classes.ts'

interface SparkProps {
  /** Null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** Accessible name; decorative if omitted. */
  readonly label?: string
  readonly color?: string
  readonly width?: number
  readonly height?: number
  /** Ends of the scale. Default: those of the values. */
  readonly range?: readonly [low: number, high: number] | undefined
  readonly className?: string
}

const told = (label: string | undefined) =>
  label === undefined ? ({ 'aria-hidden': true } as const) : ({ role: 'img', 'aria-label': label } as const)

const boundsOf = (values: SparkProps['values'], range: SparkProps['range']): readonly [number, number] => {
  if (range) return range
  const [low, high] = extent(values, (value) => value ?? NaN)
  return [low ?? 0, high ?? 1]
}

/** Line chart as tall as a line of text. */
export function SparkLine({
  values,
  label,
  color = 'var(--accent)',
  width = 72,
  height = 18,
  range,
  className,
}: SparkProps) {
  const [low, high] = boundsOf(values, range)
  const inner = height - 3
  const x = (i: number) => (values.length > 1 ? 1 + (i * (width - 2)) / (values.length - 1) : width / 2)
  const y = (value: number) => 1.5 + inner * (high > low ? 1 - (value - low) / (high - low) : 0.5)
  const path = values
    .map((value, i) => {
      if (value === null) return ''
      const isFirst = i === 0 || values[i - 1] === null
      return `${isFirst ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`
    })
    .join('')
  return (
    <svg width={width} height={height} {...told(label)} className={classes('shrink-0', className)}>
      <path
        d={path}
        fill="none"
        stroke={color}
        strokeWidth={1.25}
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  )
}

/** Bars side by side, such as the rewards of a group; a missing value is a dot at the bottom. */
export function SparkBars({
  values,
  label,
  color = 'var(--accent)',
  width,
  height = 18,
  range,
  className,
}: SparkProps) {
  const [low, high] = range ?? [Math.min(0, boundsOf(values, undefined)[0]), boundsOf(values, undefined)[1]]
  const all = width ?? values.length * 6
  const step = values.length > 0 ? all / values.length : 0
  const bar = Math.max(1, Math.min(8, step - 1.5))
  return (
    <svg width={all} height={height} {...told(label)} className={classes('shrink-0', className)}>
      {values.map((value, i) => {
        const tall =
          value === null || high <= low ? 0 : Math.max(0, ((value - low) / (high - low)) * (height - 2))
        return (
          <rect
            // Bars are identified by position.
            key={i}
            x={i * step + (step - bar) / 2}
            y={height - Math.max(1.5, tall)}
            width={bar}
            height={Math.max(1.5, tall)}
            fill={value === null ? 'var(--faint)' : color}
            opacity={value === null ? 0.5 : 1}
          />
        )
      })}
    </svg>
  )
}

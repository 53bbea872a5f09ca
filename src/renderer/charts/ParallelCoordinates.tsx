import { useMemo, useState } from 'react'
import { parallelAxis, type AxisValue, type ParallelAxis } from './parallelScales.ts'
import { axisNumber } from './ticks.ts'
import { useSize } from './useSize.ts'

export interface ParallelRun {
  readonly id: string
  readonly label: string
  readonly color: string
  readonly dash?: string | undefined
  readonly isBaseline?: boolean
  /** By key of the axis. */
  readonly values: Readonly<Record<string, AxisValue>>
}

interface ParallelProps {
  readonly title: string
  readonly axes: readonly { readonly key: string; readonly label: string }[]
  readonly runs: readonly ParallelRun[]
  readonly height?: number
  readonly emptyText: string
}

const margin = { left: 70, right: 70, top: 30, bottom: 14 } as const

/** One axis per setting or metric, one line per run. Pointing at a name brings its line forward. */
export function ParallelCoordinates({ title, axes, runs, height = 280, emptyText }: ParallelProps) {
  const { size, setElement } = useSize()
  const [front, setFront] = useState<string | null>(null)
  const scales = useMemo(
    () =>
      axes.map(({ key }) =>
        parallelAxis(
          key,
          runs.map(({ values }) => values[key] ?? null),
          axisNumber,
        ),
      ),
    [axes, runs],
  )
  const isEmpty = axes.length < 2 || runs.length === 0
  return (
    <div ref={setElement} className="min-w-0" role="group" aria-label={title}>
      {isEmpty && (
        <p
          className="flex items-center justify-center px-6 text-center text-sm text-faint"
          style={{ height }}
        >
          {emptyText}
        </p>
      )}
      {!isEmpty && size && (
        <Lines
          title={title}
          axes={axes}
          runs={runs}
          scales={scales}
          width={size.width}
          height={height}
          front={front}
        />
      )}
      {!isEmpty && (
        <ul className="flex flex-wrap gap-x-1 px-2 pb-2">
          {runs.map(({ id, label, color }) => (
            <li key={id}>
              <button
                type="button"
                className="flex h-6 items-center gap-1.5 rounded-sm px-1.5 text-sm text-muted hover:bg-raised hover:text-text"
                aria-pressed={front === id}
                onPointerEnter={() => setFront(id)}
                onPointerLeave={() => setFront(null)}
                onFocus={() => setFront(id)}
                onBlur={() => setFront(null)}
              >
                <span className="size-2 rounded-full" style={{ background: color }} />
                <span className="max-w-48 truncate">{label}</span>
                <span className="sr-only">
                  {axes
                    .map(
                      ({ key, label: name }) =>
                        `${name} ${String(runs.find((run) => run.id === id)?.values[key] ?? 'none')}`,
                    )
                    .join(', ')}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface LinesProps extends Pick<ParallelProps, 'title' | 'axes' | 'runs'> {
  readonly scales: readonly ParallelAxis[]
  readonly width: number
  readonly height: number
  readonly front: string | null
}

function Lines({ title, axes, runs, scales, width, height, front }: LinesProps) {
  const [w, h] = [width - margin.left - margin.right, height - margin.top - margin.bottom]
  const xOf = (i: number) => margin.left + (axes.length > 1 ? (i * w) / (axes.length - 1) : w / 2)
  const yOf = (share: number) => margin.top + (1 - share) * h
  const ordered =
    front === null
      ? runs
      : [...runs.filter(({ id }) => id !== front), ...runs.filter(({ id }) => id === front)]
  return (
    <svg width={width} height={height} role="img" aria-label={title} className="text-xs">
      {scales.map((scale, i) => (
        <g key={scale.key} transform={`translate(${String(xOf(i))} 0)`}>
          <path d={`M0 ${String(margin.top)}V${String(margin.top + h)}`} stroke="var(--line-strong)" />
          <text y={14} textAnchor="middle" fill="var(--muted)">
            {axes[i]?.label}
            {scale.kind === 'log' && ' (log)'}
          </text>
        </g>
      ))}
      {ordered.map(({ id, color, dash, values, isBaseline }) => (
        <path
          key={id}
          d={pathOf(scales, values, xOf, yOf)}
          fill="none"
          stroke={color}
          strokeDasharray={dash}
          strokeWidth={front === id || isBaseline === true ? 3 : 1.75}
          strokeOpacity={front !== null && front !== id ? 0.2 : 0.9}
          strokeLinejoin="round"
        />
      ))}
      {scales.map((scale, i) => (
        <g
          key={scale.key}
          transform={`translate(${String(xOf(i))} 0)`}
          stroke="var(--bg)"
          strokeWidth={4}
          paintOrder="stroke"
        >
          {scale.ticks.map(({ share, text }) => (
            <text key={text} x={-6} y={yOf(share) + 4} textAnchor="end" fill="var(--muted)">
              {text.length > 12 ? `${text.slice(0, 11)}…` : text}
            </text>
          ))}
        </g>
      ))}
    </svg>
  )
}

/** A missing value interrupts the line. */
function pathOf(
  scales: readonly ParallelAxis[],
  values: ParallelRun['values'],
  xOf: (i: number) => number,
  yOf: (share: number) => number,
): string {
  let isOpen = false
  return scales
    .map((scale, i) => {
      const share = scale.share(values[scale.key] ?? null)
      const command = isOpen ? 'L' : 'M'
      isOpen = share !== null
      return share === null ? '' : `${command}${xOf(i).toFixed(1)} ${yOf(share).toFixed(1)}`
    })
    .join('')
}

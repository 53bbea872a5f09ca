import { extent, ticks as ticksOf } from 'd3-array'
import { scaleLinear, scaleLog, scalePoint } from 'd3-scale'
import { useMemo, useState } from 'react'
import { Line, LineChart, ReferenceDot, ReferenceLine, XAxis, YAxis } from 'recharts'
import { axisNumber, logTicks } from './axes.ts'
import { useSize } from './useSize.ts'

export type AxisValue = number | string | boolean | null

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

/** One axis per setting or metric, one line per run. Pointing at a name brings its line forward. */
export function ParallelCoordinates({ title, axes, runs, height = 280, emptyText }: ParallelProps) {
  const { size, setElement } = useSize()
  const [front, setFront] = useState<string | null>(null)
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
      {!isEmpty && size && <Lines axes={axes} runs={runs} width={size.width} height={height} front={front} />}
      {!isEmpty && (
        <ul className="flex flex-wrap gap-x-1 px-2 pb-2">
          {runs.map(({ id, label, color, values }) => (
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
                  {axes.map(({ key, label: name }) => `${name} ${String(values[key] ?? 'none')}`).join(', ')}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface LinesProps extends Pick<ParallelProps, 'axes' | 'runs'> {
  readonly width: number
  readonly height: number
  readonly front: string | null
}

const margin = { left: 70, right: 70, top: 30, bottom: 14 }

/** Every axis runs from 0 to 1; a missing value interrupts the line. */
function Lines({ axes, runs, front, ...size }: LinesProps) {
  const scales = useMemo(
    () =>
      axes.map(({ key, label }) => ({
        label,
        ...parallelAxis(
          key,
          runs.map(({ values }) => values[key] ?? null),
        ),
      })),
    [axes, runs],
  )
  const data = scales.map(({ key, share }) => {
    const shares = runs.map(({ id, values }) => [id, share(values[key] ?? null)] as const)
    return { ...Object.fromEntries(shares), axis: key }
  })
  const last = (id: string, isBaseline = false) => (id === front ? 2 : isBaseline ? 1 : 0)
  return (
    <div aria-hidden>
      <LineChart {...size} data={data} margin={margin} accessibilityLayer={false}>
        <XAxis dataKey="axis" hide />
        <YAxis domain={[0, 1]} hide />
        {scales.map(({ key, label, kind }) => (
          <ReferenceLine
            key={key}
            x={key}
            stroke="var(--line-strong)"
            label={{
              value: kind === 'log' ? `${label} (log)` : label,
              position: 'top',
              offset: 16,
              fontSize: 12,
              fill: 'var(--muted)',
            }}
          />
        ))}
        {runs
          .toSorted((a, b) => last(a.id, a.isBaseline) - last(b.id, b.isBaseline))
          .map(({ id, color, dash, isBaseline }) => (
            <Line
              key={id}
              dataKey={id}
              dot={false}
              activeDot={false}
              isAnimationActive={false}
              stroke={color}
              strokeWidth={front === id || isBaseline === true ? 3 : 1.75}
              strokeOpacity={front !== null && front !== id ? 0.2 : 0.9}
              strokeLinejoin="round"
              {...(dash === undefined ? {} : { strokeDasharray: dash })}
            />
          ))}
        {scales.flatMap(({ key, ticks }) =>
          ticks.map(({ share, text }) => (
            <ReferenceDot
              key={`${key} ${text}`}
              x={key}
              y={share}
              r={0}
              label={{
                value: text.length > 12 ? `${text.slice(0, 11)}…` : text,
                position: 'left',
                offset: 6,
                fontSize: 12,
                fill: 'var(--muted)',
                stroke: 'var(--bg)',
                strokeWidth: 4,
                paintOrder: 'stroke',
              }}
            />
          )),
        )}
      </LineChart>
    </div>
  )
}

export interface ParallelAxis {
  readonly key: string
  readonly kind: 'number' | 'log' | 'category'
  readonly ticks: readonly { readonly share: number; readonly text: string }[]
  /** 0 at the bottom, 1 at the top; null where the run has no such value. */
  readonly share: (value: AxisValue) => number | null
}

/** Numbers that span more than this factor, all above 0, get a logarithmic axis. */
const logFactor = 50

export function parallelAxis(key: string, values: readonly AxisValue[]): ParallelAxis {
  const known = values.filter((value) => value !== null)
  const numbers = known.filter((value) => typeof value === 'number' && Number.isFinite(value))
  const [low, high] = extent(numbers.map(Number))
  if (low === undefined || numbers.length < known.length) return categories(key, known)
  const isLog = low > 0 && high / low > logFactor
  const scale = (isLog ? scaleLog : scaleLinear)([low, high], low === high ? [0.5, 0.5] : [0, 1])
  const ticks = isLog ? logTicks(low, high) : low === high ? [low] : ticksOf(low, high, 4)
  return {
    key,
    kind: isLog ? 'log' : 'number',
    ticks: ticks.map((at) => ({ share: scale(at), text: axisNumber(at) })),
    share: (value) => (typeof value === 'number' && Number.isFinite(value) ? scale(value) : null),
  }
}

function categories(key: string, known: readonly AxisValue[]): ParallelAxis {
  const names = [...new Set(known.map(String))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const scale = scalePoint(names, [0, 1])
  return {
    key,
    kind: 'category',
    ticks: names.map((name) => ({ share: scale(name) ?? 0, text: name })),
    share: (value) => (value === null ? null : (scale(String(value)) ?? null)),
  }
}

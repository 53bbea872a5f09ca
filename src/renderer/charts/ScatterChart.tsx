import { useMemo, useState } from 'react'
import { linearScale, extentOf, valueScale, type Scale, type ScaleKind } from './scales.ts'
import { axisNumber, linearTicks } from './ticks.ts'
import { axisNumber3 } from './summary.ts'
import { useSize } from './useSize.ts'

export interface ScatterDot {
  readonly id: string
  readonly label: string
  readonly color: string
  /** A number, or a word that has a column of its own. */
  readonly x: number | string
  readonly y: number
  readonly isBaseline?: boolean
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

const margin = { left: 52, right: 16, top: 20, bottom: 36 } as const

interface XPlaces {
  readonly ticks: readonly { readonly share: number; readonly text: string }[]
  readonly share: (x: number | string) => number
}

/** One dot per run: a setting or number against a metric. */
export function ScatterChart(props: ScatterProps) {
  const { title, dots, height = 280, xScale = 'linear' } = props
  const { size, setElement } = useSize()
  const x = useMemo(
    () =>
      placesOf(
        dots.map((dot) => dot.x),
        xScale,
      ),
    [dots, xScale],
  )
  const y = useMemo(() => {
    const extent = extentOf(dots.map((dot) => dot.y))
    return extent && valueScale(extent, 'linear')
  }, [dots])
  const words = dots.map(
    (dot) => `${dot.label}: ${props.xLabel} ${written(dot.x)}, ${props.yLabel} ${axisNumber3(dot.y)}`,
  )
  return (
    <div ref={setElement} className="relative min-w-0" style={{ height }} role="group" aria-label={title}>
      {y === null || dots.length === 0 ? (
        <p className="flex h-full items-center justify-center px-6 text-center text-sm text-faint">
          {props.emptyText}
        </p>
      ) : (
        size && <Dots {...props} x={x} y={y} width={size.width} height={height} />
      )}
      <ul className="sr-only">
        {words.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )
}

const written = (x: number | string): string => (typeof x === 'number' ? axisNumber3(x) : x)

function placesOf(values: readonly (number | string)[], kind: ScaleKind): XPlaces {
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length === values.length) {
    const extent = extentOf(numbers)
    const scale = extent ? roomy(extent.low, extent.high, kind, extent.lowestPositive) : linearScale(0, 1)
    return {
      ticks: scale.ticks.map((tick) => ({ share: scale.share(tick), text: axisNumber(tick) })),
      share: (value) => (typeof value === 'number' ? scale.share(value) : 0),
    }
  }
  const names = [...new Set(values.map(String))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const share = (value: number | string) => (names.indexOf(String(value)) + 0.5) / names.length
  return { ticks: names.map((name) => ({ share: share(name), text: name })), share }
}

function roomy(low: number, high: number, kind: ScaleKind, lowestPositive: number | null): Scale {
  if (kind === 'log') return valueScale({ low, high, lowestPositive }, 'log')
  const room = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.5 || 1
  const scale = linearScale(low - room, high + room)
  return {
    ...scale,
    ticks: linearTicks(low - room, high + room, 6).filter(
      (tick) => tick >= low - room && tick <= high + room,
    ),
  }
}

interface DotsProps extends ScatterProps {
  readonly x: XPlaces
  readonly y: Scale
  readonly width: number
  readonly height: number
}

function Dots({ title, dots, x, y, width, height, xLabel, yLabel, onOpen }: DotsProps) {
  const [shown, setShown] = useState<string | null>(null)
  const [w, h] = [width - margin.left - margin.right, height - margin.top - margin.bottom]
  const place = (dot: ScatterDot) => ({
    cx: margin.left + x.share(dot.x) * w,
    cy: margin.top + (1 - y.share(dot.y)) * h,
  })
  const pointed = dots.find(({ id }) => id === shown)
  return (
    <>
      <svg width={width} height={height} role="img" aria-label={title} className="text-xs">
        {y.ticks.map((tick) => (
          <g key={tick} transform={`translate(0 ${String(margin.top + (1 - y.share(tick)) * h)})`}>
            <path d={`M${String(margin.left)} 0h${String(w)}`} stroke="var(--line)" />
            <text x={margin.left - 6} y={4} textAnchor="end" fill="var(--faint)">
              {axisNumber(tick)}
            </text>
          </g>
        ))}
        {x.ticks.map(({ share, text }) => (
          <text
            key={text}
            x={margin.left + share * w}
            y={height - margin.bottom + 15}
            textAnchor="middle"
            fill="var(--faint)"
          >
            {text.length > 18 ? `${text.slice(0, 17)}…` : text}
          </text>
        ))}
        <text x={margin.left + w} y={height - 5} textAnchor="end" fill="var(--muted)">
          {xLabel}
        </text>
        <text x={4} y={11} fill="var(--muted)">
          {yLabel}
        </text>
        {dots.map((dot) => (
          <circle
            key={dot.id}
            {...place(dot)}
            r={dot.id === shown ? 7 : 5}
            fill={dot.color}
            fillOpacity={0.85}
            stroke={dot.isBaseline === true ? 'var(--text)' : 'var(--bg)'}
            strokeWidth={dot.isBaseline === true ? 2 : 1}
            onPointerEnter={() => setShown(dot.id)}
            onPointerLeave={() => setShown(null)}
            onClick={() => onOpen?.(dot.id)}
          />
        ))}
      </svg>
      {pointed && (
        <p
          className="pointer-events-none absolute z-20 rounded border border-line bg-bg px-2 py-1 text-sm whitespace-nowrap shadow-float"
          style={
            place(pointed).cx < width / 2
              ? { left: place(pointed).cx + 10, top: place(pointed).cy - 12 }
              : { right: width - place(pointed).cx + 10, top: place(pointed).cy - 12 }
          }
        >
          {pointed.label}{' '}
          <span className="font-mono text-muted tabular-nums">
            {written(pointed.x)} → {axisNumber3(pointed.y)}
          </span>
        </p>
      )}
    </>
  )
}

import {
  memo,
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
} from 'react'
import { ReferenceArea, ReferenceLine, Tooltip } from 'recharts'
import { classes } from '#renderer/kit/classes.ts'
import { readNumber, type Range } from './axes.ts'
import type { Group } from './CursorGroup.tsx'
import { dragPx, followPointer } from './drag.ts'
import { FrontLine } from './FrontLine.tsx'
import { useFront } from './front.tsx'
import { edge, LineDrawing } from './LineDrawing.tsx'
import type { ChartLine } from './lines.ts'
import { LineMark } from './marks.tsx'
import type { Plot } from './plot.ts'
import {
  nearestOf,
  placeText,
  readingOf,
  readingText,
  stepAt,
  stepsText,
  walk,
  type Reading,
} from './reading.ts'
import { useLinesUnder } from './useLinesUnder.ts'

const tooltipStyle = { zIndex: 20 }
const tooltipPlace = { y: 4 }

interface LinePlotProps {
  readonly label: string
  readonly plot: Plot
  /** Lines drawn only while highlighted. */
  readonly others: readonly ChartLine[]
  readonly width: number
  readonly height: number
  readonly group: Group
}

/** Draws the lines with everything that reacts to pointer and keys: cursor, values, pin, zoom by dragging. */
export const LinePlot = memo(function LinePlot(props: LinePlotProps) {
  const { label, plot, others, width, height, group } = props
  const { syncId, setZoom, pinned, pin } = group
  const [low, high] = plot.x
  const innerWidth = Math.max(1, width - edge.left - edge.right)
  const lines = useLinesUnder(plot, { width: innerWidth, height })
  const { drag, onPointerDown } = useDrag(plot.x, innerWidth, (range, x) => {
    if (range !== null) setZoom(range)
    else if (lines.isPointing()) lines.choose()
    else pin(x, stepAt(plot, x))
  })
  const { surface, hover, onKeyDown, onPlace } = usePlotCursor({ plot, group, lines, innerWidth })
  return (
    <div
      ref={surface}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={low}
      aria-valuemax={high}
      aria-valuenow={low}
      aria-valuetext="No step chosen; arrow keys move along the line."
      className="group/plot absolute inset-0 cursor-crosshair touch-none select-none has-data-front:[&_.recharts-line]:opacity-20"
      onMouseDown={takeFocus}
      onPointerDown={onPointerDown}
      onPointerMove={lines.onPointerMove}
      onPointerLeave={lines.leave}
      onDoubleClick={() => setZoom(null)}
      onBlur={() => {
        hover(null)
        lines.leave()
      }}
      onKeyDown={onKeyDown}
    >
      <LineDrawing plot={plot} width={width} height={height} syncId={syncId}>
        <FrontLine plot={plot} others={others} />
        {pinned !== null && <ReferenceLine x={pinned} stroke="var(--accent)" strokeWidth={2} />}
        <Tooltip
          isAnimationActive={false}
          position={tooltipPlace}
          allowEscapeViewBox={{ y: true }}
          wrapperStyle={tooltipStyle}
          cursor={{ stroke: 'var(--muted)' }}
          content={<Readout plot={plot} onPlace={onPlace} />}
        />
        {drag && (
          <ReferenceArea
            x1={drag[0]}
            x2={drag[1]}
            stroke="var(--accent)"
            fill="var(--accent)"
            fillOpacity={0.15}
          />
        )}
      </LineDrawing>
    </div>
  )
})

/** Focuses the surface, and none of the layers inside. */
function takeFocus(event: MouseEvent<HTMLElement>): void {
  event.preventDefault()
  event.currentTarget.focus({ preventScroll: true })
}

interface CursorOf {
  readonly plot: Plot
  readonly group: Group
  readonly lines: ReturnType<typeof useLinesUnder>
  readonly innerWidth: number
}

/** Cursor moved by pointer and keys; screen readers get its position as the value of a slider. */
function usePlotCursor({ plot, group: { zoom, setZoom, pin }, lines, innerWidth }: CursorOf) {
  const surface = useRef<HTMLDivElement>(null)
  const cursor = useRef<number | null>(null)
  const [low, high] = plot.x
  const hover = (x: number | null) => {
    const chart = surface.current?.querySelector('.recharts-wrapper')
    if (!chart) return
    movePointer(chart, x === null ? null : ((x - low) / (high - low)) * innerWidth)
    cursor.current = x
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const now = cursor.current ?? plot.x[event.key === 'ArrowLeft' ? 1 : 0]
    const next = walk(plot, now, event.key, event.shiftKey)
    const turned = lines.turn(event.key, cursor.current ?? high)
    if (turned !== null) surface.current?.setAttribute('aria-valuetext', turned)
    else if (next !== null) hover(next)
    else if (event.key === 'Enter' && lines.isPointing()) lines.choose()
    else if (event.key === 'Enter' && cursor.current !== null) pin(now, stepAt(plot, now))
    else if (event.key === 'Escape' && (zoom !== null || cursor.current !== null)) {
      setZoom(null)
      hover(null)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const onPlace = (x: number | null, words: string) => {
    cursor.current = x
    if (x === null || document.activeElement !== surface.current) return
    surface.current?.setAttribute('aria-valuenow', String(x))
    surface.current?.setAttribute('aria-valuetext', words)
  }
  return { surface, hover, onKeyDown, onPlace }
}

/**
 * Moves Recharts' pointer from our own key handling, since Recharts' keys support neither Home and End nor steps of
 * ten. `x` is in px from the y axis; null moves it away.
 */
function movePointer(chart: Element, x: number | null): void {
  const { left, top, width, height } = chart.getBoundingClientRect()
  // Recharts rounds to whole px, and positions beyond the end match nothing.
  const clientX = left + edge.left + Math.min(x ?? 0, width - edge.left - edge.right - 0.5)
  const at = { bubbles: true, clientX, clientY: top + height / 2, relatedTarget: document.body }
  chart.dispatchEvent(new MouseEvent(x === null ? 'mouseout' : 'mousemove', at))
}

/** Tracks a drag over a range of the x axis; `onEnd` gets null for a click. */
function useDrag([low, high]: Range, width: number, onEnd: (range: Range | null, x: number) => void) {
  const [drag, setDrag] = useState<Range | null>(null)
  const onPointerDown = ({ button, clientX: begin, currentTarget }: PointerEvent) => {
    if (button !== 0) return
    const left = currentTarget.getBoundingClientRect().left + edge.left
    const placeAt = (clientX: number) =>
      low + Math.min(1, Math.max(0, (clientX - left) / width)) * (high - low)
    const from = placeAt(begin)
    const rangeTo = (to: number): Range => [Math.min(from, to), Math.max(from, to)]
    followPointer({
      onMove: ({ clientX }) => setDrag(rangeTo(placeAt(clientX))),
      onStop: () => setDrag(null),
      onEnd({ clientX }) {
        const x = placeAt(clientX)
        onEnd(Math.abs(clientX - begin) >= dragPx ? rangeTo(x) : null, x)
      },
    })
  }
  return { drag, onPointerDown }
}

interface ReadoutProps {
  readonly plot: Plot
  /** Receives the x of the cursor and the values there in words. */
  readonly onPlace: (x: number | null, words: string) => void
  readonly active?: boolean
  readonly label?: string | number
}

const maxRows = 10
const eventReach = 0.01

/** Lists the values at the cursor: with names in the panel under the pointer, numbers only in the others. */
function Readout({ plot, onPlace, active = false, label }: ReadoutProps) {
  const x = active && label !== undefined ? Number(label) : null
  const front = useFront()
  const readings = x === null ? [] : inFront(readingOf(plot, x), front)
  const words = x === null ? '' : readingText(readings, plot, x)
  useEffect(() => onPlace(x, words))
  if (x === null) return null
  const at = nearestOf(readings, x)
  const hasNames = plot.lines.length > 1
  const near = plot.events.filter((event) => Math.abs(event.x - x) <= (plot.x[1] - plot.x[0]) * eventReach)
  return (
    <div className="max-w-100 rounded border border-line bg-bg px-2 py-1 text-sm shadow-float">
      <p className={`whitespace-nowrap text-faint tabular-nums ${hereOnly}`}>
        {placeText(readings, plot, x)}
      </p>
      <ul>
        {readings.slice(0, maxRows).map(({ line, value, raw, band, step, lastStep }) => (
          <li key={line.id} className="flex h-[18px] items-center gap-1.5 whitespace-nowrap">
            <LineMark color={line.color} dash={line.dash} isThick={line.isBaseline} />
            {hasNames && (
              <span
                className={classes(
                  'min-w-0 truncate',
                  hereOnly,
                  line.id === front ? 'font-medium' : 'text-muted',
                )}
              >
                {line.label}
              </span>
            )}
            <span className="ml-auto font-mono tabular-nums">{readNumber(value)}</span>
            <span className={`font-mono text-faint tabular-nums ${hereOnly}`}>
              {plot.smoothing > 0 && `${readNumber(raw)} `}
              {band && `${readNumber(band.low)}–${readNumber(band.high)}`}
            </span>
            {lastStep !== at?.lastStep && (
              <span className={`text-faint tabular-nums ${hereOnly}`}>{stepsText({ step, lastStep })}</span>
            )}
          </li>
        ))}
      </ul>
      {near.slice(0, 4).map((event) => (
        <p key={event.id} className={`max-w-64 truncate text-muted ${hereOnly}`}>
          {event.label}
        </p>
      ))}
      {readings.length > maxRows && <p className="text-faint">and {readings.length - maxRows} more</p>}
    </div>
  )
}

/** Puts the highlighted line first. */
const inFront = (readings: readonly Reading[], front: string | null): readonly Reading[] =>
  readings.toSorted((a, b) => Number(b.line.id === front) - Number(a.line.id === front))

/** Shows an element only in the panel that has the pointer or the focus. */
const hereOnly = 'hidden group-hover/plot:block group-focus/plot:block'

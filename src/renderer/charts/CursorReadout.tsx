import { useSyncExternalStore } from 'react'
import { LineMark } from './LineMark.tsx'
import type { Cursor } from './cursor.ts'
import { nearestOf, placeText, readingOf, stepsText, type Reading } from './reading.ts'
import { frameOf, type Scene } from './scene.ts'
import { readNumber } from './summary.ts'

interface ReadoutProps {
  readonly id: string
  readonly scene: Scene
  readonly width: number
  readonly height: number
  readonly cursor: Cursor
}

const maxRows = 10
const eventReachPx = 5

/** The values at the cursor, beside it. In the panel under the pointer with names, in the others with numbers only. */
export function CursorReadout({ id, scene, width, height, cursor }: ReadoutProps) {
  const place = useSyncExternalStore(cursor.subscribe, cursor.get)
  if (place.x === null) return null
  const share = scene.x.share(place.x)
  if (share < 0 || share > 1) return null
  const readings = readingOf(scene, place.x)
  const isSource = place.source === id
  if (readings.length === 0 && !isSource) return null
  const frame = frameOf(width, height)
  const at = frame.left + share * frame.width
  const isRight = share < 0.5
  return (
    <div
      className="pointer-events-none absolute z-20 rounded border border-line bg-bg px-2 py-1 text-sm shadow-float"
      style={{
        top: 4,
        ...(isRight ? { left: at + 10 } : { right: width - at + 10 }),
        maxWidth: Math.max(width * 0.55, 240),
      }}
    >
      {isSource && (
        <p className="whitespace-nowrap text-faint tabular-nums">{placeText(readings, scene, place.x)}</p>
      )}
      {readings.length === 0 && <p className="text-faint">no value here</p>}
      <Rows
        readings={readings.slice(0, maxRows)}
        hasNames={isSource && scene.lines.length > 1}
        isSmooth={scene.smoothing > 0}
        at={isSource ? nearestOf(readings, place.x) : undefined}
      />
      {isSource &&
        scene.events
          .filter(({ x }) => Math.abs(scene.x.share(x) - share) * frame.width < eventReachPx)
          .slice(0, 4)
          .map((event) => (
            <p key={event.id} className="max-w-64 truncate text-muted">
              {event.label}
            </p>
          ))}
      {readings.length > maxRows && <p className="text-faint">and {readings.length - maxRows} more</p>}
    </div>
  )
}

interface RowsProps {
  readonly readings: readonly Reading[]
  readonly hasNames: boolean
  readonly isSmooth: boolean
  /** Whose step is named above. */
  readonly at: Reading | undefined
}

const Rows = ({ readings, hasNames, isSmooth, at }: RowsProps) => (
  <ul>
    {readings.map(({ line, value, raw, band, step, lastStep }) => (
      <li key={line.id} className="flex h-[18px] items-center gap-1.5 whitespace-nowrap">
        <LineMark color={line.color} dash={line.dash} isThick={line.isBaseline} />
        {hasNames && <span className="min-w-0 truncate text-muted">{line.label}</span>}
        <span className="ml-auto font-mono tabular-nums">{readNumber(value)}</span>
        {isSmooth && hasNames && <span className="font-mono text-faint tabular-nums">{readNumber(raw)}</span>}
        {band !== undefined && hasNames && (
          <span className="font-mono text-faint tabular-nums">
            {readNumber(band.low)}–{readNumber(band.high)}
          </span>
        )}
        {at !== undefined && lastStep !== at.lastStep && (
          <span className="text-faint tabular-nums">{stepsText({ step, lastStep })}</span>
        )}
      </li>
    ))}
  </ul>
)

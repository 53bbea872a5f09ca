import { useState, type KeyboardEvent, type PointerEvent } from 'react'
import { classes } from '#renderer/kit/classes.ts'
import { dragPx, followPointer } from './drag.ts'
import { dragged, movedEnd, type Brush, type ParallelAxis } from './parallelAxes.ts'

/** Space around the axes, in px. */
export const edge = { left: 64, right: 64, top: 34, bottom: 16 }

interface BrushProps {
  readonly axis: ParallelAxis
  readonly x: number
  readonly height: number
  readonly brush: Brush | undefined
  readonly onBrush: (brush: Brush | null) => void
}

/** Half the width, in px, of the strip along the axis that responds to the pointer. */
const grip = 14

/** Selects a range of an axis by dragging, or by moving either end with the keys; a click or Escape clears it. */
export function AxisBrush({ axis, x, height, brush, onBrush }: BrushProps) {
  const inner = height - edge.top - edge.bottom
  const [drag, setDrag] = useState<Brush | null>(null)
  const [low, high] = drag ?? brush ?? [0, 1]
  const isBrushed = drag !== null || brush !== undefined
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return
    const { currentTarget, clientY: begin } = event
    const { top } = currentTarget.getBoundingClientRect()
    const near = (2 * dragPx) / inner
    // Snaps to a nearby end of the axis: a value exactly on it could not be reached otherwise.
    const shareAt = (y: number) => {
      const share = 1 - (y - top) / inner
      return share < near ? 0 : share > 1 - near ? 1 : share
    }
    const brushTo = dragged(brush, shareAt(begin), near)
    followPointer({
      onMove({ clientY }) {
        const next = axis.snapped(brushTo(shareAt(clientY)))
        setDrag(next)
        onBrush(next)
      },
      onStop: () => setDrag(null),
      onEnd: ({ clientY }) => Math.abs(clientY - begin) < dragPx && onBrush(null),
    })
  }
  const place = (share: number) => (1 - share) * inner
  return (
    <div
      className="group/axis absolute cursor-row-resize touch-none select-none"
      style={{ left: x - grip, width: 2 * grip, top: edge.top, height: inner }}
      onPointerDown={onPointerDown}
      onClick={(event) => event.stopPropagation()}
    >
      <div
        className={classes(
          'absolute inset-x-1.5 min-h-1.5 rounded-sm',
          isBrushed
            ? 'border border-accent bg-accent opacity-35'
            : 'group-hover/axis:bg-raised group-hover/axis:opacity-60',
        )}
        style={{ top: place(high), bottom: inner - place(low) }}
      />
      {(['from', 'to'] as const).map((end) => (
        <BrushEnd
          key={end}
          {...{ axis, end, isBrushed, onBrush }}
          brush={[low, high]}
          top={place(end === 'from' ? low : high)}
        />
      ))}
    </div>
  )
}

interface EndProps extends Pick<BrushProps, 'axis' | 'onBrush'> {
  readonly end: 'from' | 'to'
  readonly brush: Brush
  readonly top: number
  readonly isBrushed: boolean
}

function BrushEnd({ axis, end, brush, top, isBrushed, onBrush }: EndProps) {
  const [low, high] = brush
  const onKeyDown = (event: KeyboardEvent) => {
    const next = event.key === 'Escape' ? null : movedEnd(axis, brush, end, event.key)
    if (next === undefined || (next === null && !isBrushed)) return
    event.preventDefault()
    event.stopPropagation()
    onBrush(next)
  }
  const share = end === 'from' ? low : high
  const [least, most] = end === 'from' ? [0, high] : [low, 1]
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`${axis.label}, ${end}`}
      aria-valuemin={percent(least)}
      aria-valuemax={percent(most)}
      aria-valuenow={percent(share)}
      aria-valuetext={axis.textAt(share)}
      className={classes(
        'absolute inset-x-1 h-2 -translate-y-1/2 rounded-sm focus-visible:bg-accent',
        isBrushed && 'bg-accent',
      )}
      style={{ top }}
      onKeyDown={onKeyDown}
    />
  )
}

const percent = (share: number): number => Math.round(1000 * share) / 10

import type { CSSProperties, KeyboardEvent, PointerEvent } from 'react'
import type { Group } from './CursorGroup.tsx'
import { snapped, stepAt, walk } from './reading.ts'
import { frameOf, type Range, type Scene } from './scene.ts'
import { useBrush, useCursorLine } from './useOverlay.ts'

export interface OverlayProps {
  readonly id: string
  /** Of the chart, for those who do not see it. */
  readonly label: string
  readonly scene: Scene
  /** Everything there is along the x axis. */
  readonly width: number
  readonly height: number
  readonly group: Group
}

/**
 * What follows the pointer and the keys: cursor, marked place, brush. It lies above the lines and moves by hand, so that
 * nothing below is drawn again.
 */
export function PlotOverlay({ id, label, scene, width, height, group }: OverlayProps) {
  const frame = frameOf(width, height)
  const { cursor, setZoom, pinned, pin } = group
  const { surface, line } = useCursorLine(scene, frame.width, cursor)
  const placeOf = (event: PointerEvent): number => {
    const box = event.currentTarget.getBoundingClientRect()
    return scene.x.valueAt(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)))
  }
  const { brush, isOpen, begin, move, end } = useBrush(scene, frame.width, (range, x) =>
    range === null ? pin?.(x, stepAt(scene, x)) : setZoom(range),
  )
  const onKeyDown = (event: KeyboardEvent) => {
    const now = cursor.get().x ?? scene.x.domain[event.key === 'ArrowLeft' ? 1 : 0]
    const next = walk(scene, now, event.key, event.shiftKey)
    if (next !== null) cursor.set({ x: next, source: id })
    else if (event.key === 'Enter' && cursor.get().x !== null) pin?.(now, stepAt(scene, now))
    else if (event.key === 'Escape' && (group.zoom !== null || cursor.get().x !== null)) {
      setZoom(null)
      cursor.set({ x: null, source: null })
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const pinnedAt = pinned === null ? -1 : scene.x.share(pinned)
  const [low, high]: Range = scene.x.domain
  const area: CSSProperties = { left: frame.left, top: frame.top, width: frame.width, height: frame.height }
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
      className="absolute cursor-crosshair touch-none"
      style={area}
      onPointerMove={(event) => {
        const x = placeOf(event)
        cursor.set({ x: isOpen() ? x : snapped(scene, x), source: id })
        if (isOpen()) move(x)
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        begin(placeOf(event))
      }}
      onPointerUp={(event) => end(placeOf(event))}
      onPointerLeave={() => cursor.set({ x: null, source: null })}
      onBlur={() => cursor.set({ x: null, source: null })}
      onDoubleClick={() => setZoom(null)}
      onKeyDown={onKeyDown}
    >
      {pinnedAt >= 0 && pinnedAt <= 1 && (
        <div
          className="pointer-events-none absolute inset-y-0 w-0.5 bg-accent"
          style={{ left: `${String(pinnedAt * 100)}%` }}
        />
      )}
      <div ref={line} className="pointer-events-none absolute inset-y-0 left-0 hidden w-px bg-muted" />
      <div
        ref={brush}
        className="pointer-events-none absolute inset-y-0 hidden border-x border-accent bg-accent-soft opacity-60"
      />
    </div>
  )
}

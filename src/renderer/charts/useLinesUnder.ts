import { useRef, type PointerEvent } from 'react'
import { placeOnAxis } from './axes.ts'
import { usePointing } from './front.tsx'
import { edge } from './LineDrawing.tsx'
import type { Plot } from './plot.ts'
import { readingOf, readingText } from './reading.ts'

const reachPx = 16

interface PlotSize {
  /** Width between the axes. */
  readonly width: number
  readonly height: number
}

/** Highlights the line under the pointer; does nothing outside of a group. */
export function useLinesUnder(plot: Plot, { width, height }: PlotSize) {
  const pointing = usePointing()
  const current = useRef<string | null>(null)
  const point = (id: string | null) => {
    if (current.current !== id) pointing?.point(id)
    current.current = id
  }
  const yOf = (value: number) =>
    edge.top + (1 - placeOnAxis(value, plot.y)) * (height - edge.top - edge.bottom)
  return {
    leave: () => point(null),
    onPointerMove: ({ clientX, clientY, currentTarget }: PointerEvent) => {
      if (pointing === null) return
      const { left, top } = currentTarget.getBoundingClientRect()
      const [low, high] = plot.x
      const x = low + ((clientX - left - edge.left) / width) * (high - low)
      const near = readingOf(plot, x)
        .map(({ line, value }) => ({ id: line.id, distance: Math.abs(yOf(value) - (clientY - top)) }))
        .filter(({ distance }) => distance <= reachPx)
      point(near.toSorted((a, b) => a.distance - b.distance)[0]?.id ?? null)
    },
    /** Moves to the line above or below at x and returns its value in words; null for other keys. */
    turn: (key: string, x: number): string | null => {
      if (pointing === null || (key !== 'ArrowUp' && key !== 'ArrowDown')) return null
      const readings = readingOf(plot, x)
      const at = readings.findIndex(({ line }) => line.id === current.current)
      const next =
        at === -1 ? readings[0] : readings.at((at + (key === 'ArrowUp' ? -1 : 1)) % readings.length)
      point(next?.line.id ?? null)
      return readingText(next === undefined ? [] : [next], plot, x)
    },
    isPointing: () => current.current !== null,
    choose: () => {
      if (current.current !== null) pointing?.choose(current.current)
    },
  }
}

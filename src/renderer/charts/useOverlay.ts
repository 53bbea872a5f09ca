/** What moves above a plot, by hand: React has no part in it between two redraws. */
import { useEffect, useRef } from 'react'
import type { Cursor } from './cursor.ts'
import { readingOf, readingText } from './reading.ts'
import type { Range, Scene } from './scene.ts'

/** Keeps a line at the cursor, and tells readers of the screen what the lines say there while the plot has the focus. */
export function useCursorLine(scene: Scene, width: number, cursor: Cursor) {
  const surface = useRef<HTMLDivElement>(null)
  const line = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const show = () => {
      const { x } = cursor.get()
      const share = x === null ? -1 : scene.x.share(x)
      const isInside = share >= 0 && share <= 1
      if (line.current) {
        line.current.style.display = isInside ? 'block' : 'none'
        line.current.style.transform = `translateX(${String(Math.round(share * width))}px)`
      }
      if (!surface.current || x === null || document.activeElement !== surface.current) return
      surface.current.setAttribute('aria-valuenow', String(x))
      surface.current.setAttribute('aria-valuetext', readingText(readingOf(scene, x), scene, x))
    }
    show()
    return cursor.subscribe(show)
  }, [cursor, scene, width])
  return { surface, line }
}

/** Shorter drags are clicks. */
const dragPx = 4

/** A stretch drawn with the pointer; `onEnd` gets null for a click. */
export function useBrush(scene: Scene, width: number, onEnd: (range: Range | null, x: number) => void) {
  const brush = useRef<HTMLDivElement>(null)
  const from = useRef<number | null>(null)
  const show = (a: number, b: number, isShown: boolean) => {
    if (!brush.current) return
    const [left, right] = [scene.x.share(Math.min(a, b)), scene.x.share(Math.max(a, b))]
    brush.current.style.display = isShown ? 'block' : 'none'
    brush.current.style.left = `${String(left * 100)}%`
    brush.current.style.width = `${String((right - left) * 100)}%`
  }
  return {
    brush,
    isOpen: () => from.current !== null,
    begin: (x: number) => {
      from.current = x
    },
    move: (x: number) => show(from.current ?? x, x, true),
    end: (x: number) => {
      const start = from.current
      from.current = null
      show(x, x, false)
      if (start === null) return
      const isDrag = Math.abs(scene.x.share(start) - scene.x.share(x)) * width >= dragPx
      onEnd(isDrag ? [Math.min(start, x), Math.max(start, x)] : null, x)
    },
  }
}

/** Shorter drags are clicks, in px. */
export const dragPx = 4

interface Drag {
  readonly onMove: (at: PointerEvent) => void
  /** Follows the release or the loss of the pointer; a release reaches `onEnd` too. */
  readonly onStop: () => void
  readonly onEnd: (at: PointerEvent) => void
}

/** Follows a pointer that was pressed, wherever it goes. */
export function followPointer({ onMove, onStop, onEnd }: Drag): void {
  const ended = new AbortController()
  const options = { signal: ended.signal }
  const stop = () => {
    ended.abort()
    onStop()
  }
  const end = (at: PointerEvent) => {
    stop()
    onEnd(at)
  }
  window.addEventListener('pointermove', onMove, options)
  window.addEventListener('pointercancel', stop, options)
  window.addEventListener('pointerup', end, options)
}

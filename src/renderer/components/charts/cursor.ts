/** Where the pointer is on the x axis of a group of panels; told by hand, so that moving it redraws no line. */

export interface CursorPlace {
  /** null: nowhere. */
  readonly x: number | null
  /** The panel it is in. */
  readonly source: string | null
}

export interface Cursor {
  readonly get: () => CursorPlace
  /** At most once a frame. */
  readonly set: (place: CursorPlace) => void
  readonly subscribe: (listener: () => void) => () => void
}

const nowhere: CursorPlace = { x: null, source: null }

/** `nextFrame`: calls back when the next picture is made. */
export function createCursor(nextFrame: (callback: () => void) => void = requestAnimationFrame): Cursor {
  const listeners = new Set<() => void>()
  let place = nowhere
  let next: CursorPlace | null = null
  const tell = () => {
    if (next === null) return
    const isSame = next.x === place.x && next.source === place.source
    place = next
    next = null
    if (!isSame) for (const listener of [...listeners]) listener()
  }
  return {
    get: () => place,
    set(wanted) {
      if (next === null) nextFrame(tell)
      next = wanted
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Where the pointer is on the x axis of a group of panels; told by hand, so that moving it redraws no line. */

export interface CursorPlace {
  /** null: nowhere. */
  readonly x: number | null
  /** The panel it is in. */
  readonly source: string | null
}

export interface Cursor {
  /** Where it is now, told or not: the next key may come before the next frame. */
  readonly get: () => CursorPlace
  /** Told at most once a frame. */
  readonly set: (place: CursorPlace) => void
  readonly subscribe: (listener: () => void) => () => void
}

const isSame = (a: CursorPlace, b: CursorPlace): boolean => a.x === b.x && a.source === b.source

/** `nextFrame`: calls back when the next picture is made. */
export function createCursor(nextFrame: (callback: () => void) => void = requestAnimationFrame): Cursor {
  const listeners = new Set<() => void>()
  let place: CursorPlace = { x: null, source: null }
  let told = place
  let isWaiting = false
  const tell = () => {
    isWaiting = false
    if (isSame(place, told)) return
    told = place
    for (const listener of [...listeners]) listener()
  }
  return {
    get: () => place,
    set(wanted) {
      if (isSame(wanted, place)) return
      place = wanted
      if (!isWaiting) nextFrame(tell)
      isWaiting = true
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

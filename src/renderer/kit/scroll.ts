import { useEffect, useRef, type RefObject } from 'react'
import { useLatest } from '#renderer/client/api.tsx'

/** Keeps the end of growing text in view until the user scrolls away. */
export function useFollowedScroll<Element extends HTMLElement>(
  content: string,
  isFollowing: boolean,
): RefObject<Element | null> {
  const element = useRef<Element>(null)
  useEffect(() => {
    if (isFollowing) element.current?.scrollTo({ top: element.current.scrollHeight })
  }, [content, isFollowing])
  return element
}

/** Scrolls to the selection when it changes, not while the user scrolls. */
export function useScrolledTo(index: number, scrollTo: (index: number) => void): void {
  const latest = useLatest(scrollTo)
  useEffect(() => {
    if (index >= 0) latest.current(index)
  }, [index, latest])
}

/** Loads more when the end of a list comes into view, repeatedly until the list exceeds the viewport. */
export function useEndReached(
  isAtEnd: boolean,
  items: readonly unknown[],
  onEnd: (() => void) | undefined,
): void {
  const latest = useLatest(onEnd)
  useEffect(() => {
    if (isAtEnd) latest.current?.()
  }, [isAtEnd, items, latest])
}

const pageRows = 12

/** Returns the index that a key leads to in a list of `count`; null for keys that lists do not handle. */
export function movedBy(key: string, at: number, count: number): number | null {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + pageRows,
    PageUp: at - pageRows,
    Home: 0,
    End: count - 1,
  }
  const next = moves[key]
  return next === undefined ? null : Math.min(count - 1, Math.max(0, next))
}

/** Focuses an element: at once if it is there, since the next key may come before the next frame, else once it is drawn. */
export function focusOnceDrawn(find: () => HTMLElement | null | undefined): void {
  const found = find()
  if (found) found.focus()
  else requestAnimationFrame(() => find()?.focus())
}

import { createContext, use, useMemo, useState, type ReactNode } from 'react'
import { createCursor, type Cursor } from './cursor.ts'
import type { Range } from './scene.ts'

/** What panels share. */
export interface Group {
  readonly cursor: Cursor
  readonly zoom: Range | null
  readonly setZoom: (zoom: Range | null) => void
  /** A marked place that stays. */
  readonly pinned: number | null
  readonly pin: ((x: number, step: number) => void) | undefined
  /** Values come in all the time. */
  readonly isLive: boolean
}

const GroupContext = createContext<Group | null>(null)

export interface CursorGroupProps {
  /** Kept by the group itself where it is left out. */
  readonly zoom?: Range | null
  readonly onZoom?: (zoom: Range | null) => void
  readonly pinned?: number | null
  /** A click: the place on the x axis and the step that is nearest to it. */
  readonly onPin?: (x: number, step: number) => void
  readonly isLive?: boolean
  readonly children: ReactNode
}

/** One cursor and one zoom for all panels inside. */
export function CursorGroup(props: CursorGroupProps) {
  const { zoom, onZoom, pinned = null, onPin, isLive = false, children } = props
  const [cursor] = useState(() => createCursor())
  const [own, setOwn] = useState<Range | null>(null)
  const shown = zoom === undefined ? own : zoom
  const group = useMemo(
    () => ({ cursor, zoom: shown, setZoom: onZoom ?? setOwn, pinned, pin: onPin, isLive }),
    [cursor, shown, onZoom, pinned, onPin, isLive],
  )
  return <GroupContext value={group}>{children}</GroupContext>
}

/** That of the group around, or one of its own. */
export function useGroup(): Group {
  const around = use(GroupContext)
  const [cursor] = useState(() => createCursor())
  const [zoom, setZoom] = useState<Range | null>(null)
  const own = useMemo(
    () => ({ cursor, zoom, setZoom, pinned: null, pin: undefined, isLive: false }),
    [cursor, zoom],
  )
  return around ?? own
}

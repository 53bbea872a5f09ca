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
}

const GroupContext = createContext<Group | null>(null)

export interface CursorGroupProps {
  /** Kept by the group itself where it is left out. */
  readonly zoom?: Range | null
  readonly onZoom?: (zoom: Range | null) => void
  readonly pinned?: number | null
  /** A click: the place on the x axis and the step that is nearest to it. */
  readonly onPin?: (x: number, step: number) => void
  readonly children: ReactNode
}

/** One cursor and one zoom for all panels inside. */
export function CursorGroup({ zoom, onZoom, pinned = null, onPin, children }: CursorGroupProps) {
  const [cursor] = useState(() => createCursor())
  const [own, setOwn] = useState<Range | null>(null)
  const shown = zoom === undefined ? own : zoom
  const group = useMemo(
    () => ({ cursor, zoom: shown, setZoom: onZoom ?? setOwn, pinned, pin: onPin }),
    [cursor, shown, onZoom, pinned, onPin],
  )
  return <GroupContext value={group}>{children}</GroupContext>
}

/** That of the group around, or one of its own. */
export function useGroup(): Group {
  const around = use(GroupContext)
  const [cursor] = useState(() => createCursor())
  const [zoom, setZoom] = useState<Range | null>(null)
  const own = useMemo(() => ({ cursor, zoom, setZoom, pinned: null, pin: undefined }), [cursor, zoom])
  return around ?? own
}

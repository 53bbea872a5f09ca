import { createContext, use, useId, useMemo, useState, type ReactNode } from 'react'
import { useLatest } from '#renderer/client/api.tsx'
import type { Range } from './axes.ts'

/** Cursor, zoom and pin shared by several panels. */
export interface Group {
  /** Panels with the same id show the cursor at the same x. */
  readonly syncId: string
  readonly zoom: Range | null
  readonly setZoom: (zoom: Range | null) => void
  /** X of the pinned position. */
  readonly pinned: number | null
  readonly pin: (x: number, step: number) => void
  readonly isLive: boolean
}

const GroupContext = createContext<Group | null>(null)

export interface CursorGroupProps {
  /** Kept by the group itself if omitted. */
  readonly zoom?: Range | null
  readonly onZoom?: (zoom: Range | null) => void
  readonly pinned?: number | null
  /** Receives a click: its x value and the nearest step. */
  readonly onPin?: (x: number, step: number) => void
  readonly isLive?: boolean
}

/** Gives all panels inside one cursor and one zoom. */
export const CursorGroup = ({ children, ...props }: CursorGroupProps & { readonly children: ReactNode }) => (
  <GroupContext value={useOwnGroup(props)}>{children}</GroupContext>
)

/** Returns the same object until a field changes, since every panel reads it. */
function useOwnGroup({ zoom, onZoom, pinned = null, onPin, isLive = false }: CursorGroupProps): Group {
  const syncId = useId()
  const [own, setOwn] = useState<Range | null>(null)
  const latest = useLatest({ onZoom: onZoom ?? setOwn, onPin })
  const shown = zoom === undefined ? own : zoom
  return useMemo(
    () => ({
      syncId,
      pinned,
      isLive,
      zoom: shown,
      setZoom: (to) => latest.current.onZoom(to),
      pin: (x, step) => latest.current.onPin?.(x, step),
    }),
    [syncId, shown, latest, pinned, isLive],
  )
}

/** Returns the surrounding group, or a group of its own outside of any. */
export function useGroup(): Group {
  const own = useOwnGroup({})
  return use(GroupContext) ?? own
}

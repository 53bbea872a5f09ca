import { createContext, use, useId, useMemo, useState, type ReactNode } from 'react'
import { useLatest } from '#renderer/client/api.tsx'
import type { Range } from './axes.ts'

/** What panels share. */
export interface Group {
  /** Panels of one name show the cursor at the same place. */
  readonly syncId: string
  readonly zoom: Range | null
  readonly setZoom: (zoom: Range | null) => void
  /** A marked place that stays. */
  readonly pinned: number | null
  readonly pin: (x: number, step: number) => void
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
}

/** One cursor and one zoom for all panels inside. */
export const CursorGroup = ({ children, ...props }: CursorGroupProps & { readonly children: ReactNode }) => (
  <GroupContext value={useOwnGroup(props)}>{children}</GroupContext>
)

/** The same group as long as it looks the same: every panel reads it. */
function useOwnGroup({ zoom, onZoom, pinned = null, onPin, isLive = false }: CursorGroupProps): Group {
  const syncId = useId()
  const [own, setOwn] = useState<Range | null>(null)
  const latest = useLatest({ onZoom: onZoom ?? setOwn, onPin })
  const shown = zoom === undefined ? own : zoom
  return useMemo(
    () => ({
      ...{ syncId, pinned, isLive, zoom: shown },
      setZoom: (to) => latest.current.onZoom(to),
      pin: (x, step) => latest.current.onPin?.(x, step),
    }),
    [syncId, shown, latest, pinned, isLive],
  )
}

/** That of the group around, or one of its own. */
export function useGroup(): Group {
  const own = useOwnGroup({})
  return use(GroupContext) ?? own
}

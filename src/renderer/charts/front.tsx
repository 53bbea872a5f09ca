/** The line that stands out in every chart, tree and table of a page: the one pointed at, else the one chosen. */
import { createContext, use, useMemo, useState, type ReactNode } from 'react'
import { useLatest } from '#renderer/client/api.tsx'

interface Pointing {
  /** By id of a line; null: at none. */
  readonly point: (id: string | null) => void
  readonly choose: (id: string) => void
}

/** Apart, so that what only points is not drawn again when something else stands out. */
const PointingContext = createContext<Pointing | null>(null)
const FrontContext = createContext<string | null>(null)

interface FrontGroupProps extends Pick<Pointing, 'choose'> {
  readonly chosen: string | null
  readonly children: ReactNode
}

export function FrontGroup({ chosen, choose, children }: FrontGroupProps) {
  const [pointed, point] = useState<string | null>(null)
  const latest = useLatest(choose)
  const pointing = useMemo(() => ({ point, choose: (id: string) => latest.current(id) }), [latest])
  return (
    <PointingContext value={pointing}>
      <FrontContext value={pointed ?? chosen}>{children}</FrontContext>
    </PointingContext>
  )
}

/** Id of the line that stands out; null: none does. */
export const useFront = (): string | null => use(FrontContext)

/** null outside of a group: nothing stands out there. */
export const usePointing = (): Pointing | null => use(PointingContext)

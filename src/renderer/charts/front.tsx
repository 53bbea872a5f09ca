/** The line highlighted in every chart, tree and table of a page: the one pointed at, else the selected one. */
import { createContext, use, useMemo, useState, type ReactNode } from 'react'
import { useLatest } from '#renderer/client/api.tsx'

interface Pointing {
  /** Receives the id of the line pointed at, or null. */
  readonly point: (id: string | null) => void
  readonly choose: (id: string) => void
}

/** Separate context, so that components which only point are not re-rendered when the highlight changes. */
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

/** Id of the highlighted line, or null. */
export const useFront = (): string | null => use(FrontContext)

/** Null outside of a group, where nothing is highlighted. */
export const usePointing = (): Pointing | null => use(PointingContext)

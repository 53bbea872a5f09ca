/** Display options of curves, the same everywhere; all of them can be stored in the URL. */
import { useCallback, useMemo } from 'react'
import { setQuery, useRoute, type Query } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { axesOf, xAxes, type ScaleKind, type XAxis } from './axes.ts'
import { maxSmoothing } from './curves.ts'

export interface CurveLook {
  readonly x: XAxis
  readonly smoothing: number | 'auto'
  readonly scale: ScaleKind
}

export const defaultLook: CurveLook = { x: 'step', smoothing: 'auto', scale: 'linear' }

/** Ignores anything invalid in the query. */
export const parseLook = (query: URLSearchParams): CurveLook => ({
  x: xAxes.find((axis) => axis === query.get('x')) ?? 'step',
  smoothing: smoothingOf(query.get('smoothing')),
  scale: query.get('scale') === 'log' ? 'log' : 'linear',
})

/** True if the query has any option; without one, the last choice applies. */
export const hasLook = (query: URLSearchParams): boolean =>
  ['x', 'smoothing', 'scale'].some((name) => query.has(name))

/** Keeps only options that differ from the defaults. */
export const lookQuery = ({ x, smoothing, scale }: CurveLook): Query => ({
  x: x === 'step' ? null : x,
  smoothing: smoothing === 'auto' ? null : String(smoothing),
  scale: scale === 'linear' ? null : scale,
})

function smoothingOf(text: string | null): number | 'auto' {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) && value >= 0 && value <= maxSmoothing ? value : 'auto'
}

/**
 * Returns the options of the URL, else the user's last choice. `names`: available metrics; an axis whose metrics are
 * missing is not used.
 */
export function useCurveLook(
  names: readonly string[],
): readonly [CurveLook, (changes: Partial<CurveLook>) => void] {
  const { query } = useRoute()
  const [kept, keep] = useSetting<CurveLook>('charts.look', defaultLook)
  const wanted = useMemo(() => (hasLook(query) ? parseLook(query) : kept), [query, kept])
  const change = useCallback(
    (changes: Partial<CurveLook>) => {
      const next = { ...wanted, ...changes }
      keep(next)
      setQuery(lookQuery(next))
    },
    [wanted, keep],
  )
  const isKnown = axesOf(names).includes(wanted.x)
  return [useMemo(() => (isKnown ? wanted : { ...wanted, x: 'step' }), [wanted, isKnown]), change]
}

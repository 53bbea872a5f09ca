/** How the curves of a run are looked at: as the address says, else as the person chose last. */
import { useCallback, useMemo } from 'react'
import { hasLook, lookQuery, parseLook, usualLook, type CurveLook } from './curveLook.ts'
import { axesOf } from './xAxes.ts'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'

/** `names`: metrics there are; an axis without its numbers is not used. */
export function useCurveLook(
  names: readonly string[],
): readonly [CurveLook, (changes: Partial<CurveLook>) => void] {
  const { query } = useRoute()
  const [kept, keep] = useSetting<CurveLook>('charts.look', usualLook)
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

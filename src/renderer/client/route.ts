/** Current location, stored after the # of the address, since the host serves a single page. */
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { forwarded, hereAt, type Here } from '#shared/places.ts'

export interface Route {
  /** Parts between slashes; empty at home. */
  readonly path: readonly string[]
  /** Null if nothing is at this address. */
  readonly here: Here | null
  /** Parts after the route of the view, such as the id of a run. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | null | undefined>>

/** Returns an address for `href`. Empty query values are left out. */
export function link(path: string, query: Query = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(entries).toString()
  return `#${forwarded(`${path}${search === '' ? '' : `?${search}`}`)}`
}

/** Navigates; `replace` makes going back skip the current location, for filters and cursors. */
export function navigate(path: string, query: Query = {}, { replace = false } = {}): void {
  const hash = link(path, query)
  if (hash === location.hash) return
  if (replace) {
    history.replaceState(null, '', hash)
    dispatchEvent(new HashChangeEvent('hashchange'))
  } else location.hash = hash
}

export const goToNewRun = (): void => navigate('/new-run')

export function setQuery(changes: Query, { replace = true } = {}): void {
  const { path, query } = parseRoute(location.hash)
  navigate(`/${path.join('/')}`, { ...Object.fromEntries(query), ...changes }, { replace })
}

export function parseRoute(hash: string): Route {
  const [address = '', search = ''] = forwarded(hash.replace(/^#/, '')).split('?', 2)
  const path = address.split('/').filter(Boolean).map(decoded)
  const here = hereAt(path)
  return { path, here, rest: here?.rest ?? [], query: new URLSearchParams(search) }
}

/** Decodes a part of an address; a stray % in a typed address is kept as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parseRoute(hash), [hash])
}

/** Shows today's address in place of an earlier version's, to which a bookmark may lead. Mounted once, near the root. */
export function useForwarding(): void {
  useEffect(() => {
    const forward = () => {
      const hash = `#${forwarded(location.hash.slice(1))}`
      if (location.hash !== '' && hash !== location.hash) history.replaceState(null, '', hash)
    }
    forward()
    return subscribe(forward)
  }, [])
}

/** Current location, stored after the # of the address, since the host serves a single page. */
import { useMemo, useSyncExternalStore } from 'react'

export interface Route {
  /** Parts between slashes; empty at home. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | null | undefined>>

/** Returns an address for `href`. Empty query values are left out. */
export function link(path: string, query: Query = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(entries).toString()
  return `#${path}${search === '' ? '' : `?${search}`}`
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
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(search) }
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

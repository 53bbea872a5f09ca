/** Where the person is, in the part of the address behind #: the host knows one page only. */
import { useMemo, useSyncExternalStore } from 'react'

export interface Route {
  /** Parts between slashes; none at home. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | null | undefined>>

/** An address for `href`. Empty values of the query are left out. */
export function link(path: string, query: Query = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(entries).toString()
  return `#${path}${search === '' ? '' : `?${search}`}`
}

/** `replace`: going back skips what was here before; for filters and cursors. */
export function navigate(path: string, query: Query = {}, { replace = false } = {}): void {
  const hash = link(path, query)
  if (hash === location.hash) return
  if (replace) {
    history.replaceState(null, '', hash)
    dispatchEvent(new HashChangeEvent('hashchange'))
  } else location.hash = hash
}

export const goToNewRun = (): void => navigate('/new-run')

/** Changes some values of the query where the person is. */
export function setQuery(changes: Query, { replace = true } = {}): void {
  const { path, query } = parseRoute(location.hash)
  navigate(`/${path.join('/')}`, { ...Object.fromEntries(query), ...changes }, { replace })
}

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(search) }
}

/** An address that somebody typed may hold a % that stands for nothing. */
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

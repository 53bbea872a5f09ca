/**
 * What the window may not do, whatever its page is made to ask for: no permission but to fill the clipboard, no window,
 * no other page, no request to anywhere.
 */
import type { Session, WebContents } from 'electron'
import { appOrigin, appPage, isOwnUrl } from './origin.ts'

/** Copy buttons; what a page may put there is plain. */
const granted = 'clipboard-sanitized-write'

/** Chromium's own look-ups and services, of no use to a page that is on this machine. */
export const quietSwitches: readonly (readonly [name: string, value?: string])[] = [
  ['disable-background-networking'],
  ['disable-component-update'],
  ['disable-domain-reliability'],
  ['dns-prefetch-disable'],
  ['no-pings'],
  ['host-resolver-rules', 'MAP * ~NOTFOUND'],
]

/** Requests that stay inside the window. */
const isInside = (url: string): boolean =>
  isOwnUrl(url) ||
  url.startsWith('data:') ||
  url.startsWith(`blob:${appOrigin}/`) ||
  url.startsWith('devtools://')

/** `onBlocked` is told of every request that was refused. */
export function lockSession(session: Session, onBlocked: (url: string) => void): void {
  session.setPermissionRequestHandler((contents, permission, decide) =>
    decide(permission === granted && isOwnUrl(contents.getURL())),
  )
  session.setPermissionCheckHandler(
    (_contents, permission, origin) => permission === granted && isOwnUrl(origin),
  )
  session.setDevicePermissionHandler(() => false)
  session.setDisplayMediaRequestHandler((_request, refuse) => refuse(null))
  session.setSpellCheckerEnabled(false) // it would load dictionaries
  session.webRequest.onBeforeRequest(({ url }, decide) => {
    const isAllowed = isInside(url)
    if (!isAllowed) onBlocked(url)
    decide({ cancel: !isAllowed })
  })
}

/** `onLink`: a person followed a link to the web. */
export function lockContents(contents: WebContents, onLink: (url: string) => void): void {
  contents.setWindowOpenHandler(({ url }) => {
    if (isWebLink(url)) onLink(url)
    return { action: 'deny' }
  })
  contents.on('will-navigate', (event) => {
    if (isReload(event.url)) return
    event.preventDefault()
    if (isWebLink(event.url)) onLink(event.url)
  })
  contents.on('will-frame-navigate', (event) => {
    if (!event.isMainFrame || !isReload(event.url)) event.preventDefault()
  })
  contents.on('will-redirect', (event) => event.preventDefault())
  contents.on('will-attach-webview', (event) => event.preventDefault())
}

/** The page may load itself anew, at whatever place it shows. */
const isReload = (url: string): boolean => url.split('#')[0] === appPage

/** Encrypted, and without a name or password that would be sent along. */
function isWebLink(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed?.protocol === 'https:' && parsed.username === '' && parsed.password === ''
}

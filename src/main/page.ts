/** The window's page: its source, and what it may not do even when compromised. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { protocol, type Session, type WebContents } from 'electron'
import {
  contentSecurityPolicy,
  createNonce,
  findStaticFile,
  placeholderPage,
  readPage,
  securityHeaders,
} from '#host/transports/staticFiles.ts'

/** Custom scheme, so that the page has an origin that nobody else can have. */
const appScheme = 'turnwise'
const appOrigin = `${appScheme}://app`
export const appPage = `${appOrigin}/`

const isOwnUrl = (url: string): boolean => url === appOrigin || url.startsWith(appPage)

/** Properties of a message's sender that decide whether to trust it. */
export interface Sender {
  readonly senderFrame: { readonly url: string; readonly parent: unknown } | null
}

/** True for the page itself only, not for frames inside it or pages from elsewhere. */
export const isOwnPage = ({ senderFrame }: Sender): boolean =>
  senderFrame !== null && senderFrame.parent === null && isOwnUrl(senderFrame.url)

/** Registers the scheme; must run before the app is ready. */
export function registerAppScheme(): void {
  const privileges = { standard: true, secure: true, supportFetchAPI: true, codeCache: true }
  protocol.registerSchemesAsPrivileged([{ scheme: appScheme, privileges }])
}

export function serveWindowFiles({ protocol: handled }: Session, directory: string): void {
  handled.handle(appScheme, (request) => answerRequest(request, directory))
}

/** Answers GET and HEAD of a file of the built window; a page gets the nonce of its policy. */
async function answerRequest(
  { method, url }: Pick<Request, 'method' | 'url'>,
  directory: string,
): Promise<Response> {
  const nonce = createNonce()
  const respond = (status: number, body: string | Uint8Array<ArrayBuffer> | null, type = 'text/plain') =>
    new Response(method === 'HEAD' ? null : body, {
      status,
      headers: {
        ...securityHeaders,
        'content-security-policy': contentSecurityPolicy(nonce),
        'content-type': type,
        // The files are on this machine: a cached copy would only be stale after an update.
        'cache-control': 'no-store',
      },
    })
  if (method !== 'GET' && method !== 'HEAD') return respond(405, 'Method Not Allowed')
  const { host, pathname } = new URL(url)
  if (host !== 'app') return respond(404, 'Not Found')
  if (pathname === '/' && !existsSync(directory))
    return respond(200, placeholderPage, 'text/html; charset=utf-8')
  const found = findStaticFile(directory, pathname)
  if (found === null) return respond(404, 'Not Found')
  const isPage = found.contentType.startsWith('text/html')
  const content = isPage ? readPage(found, nonce) : new Uint8Array(await readFile(found.file))
  return respond(200, content, found.contentType)
}

/* No permission but to fill the clipboard, no window, no other page, no request to anywhere. */

/** Permission for copy buttons; pages can only put sanitized content there. */
const granted = 'clipboard-sanitized-write'

/** Switches that turn off Chromium's own look-ups and services, of no use to a local page. */
export const quietSwitches: readonly (readonly [name: string, value?: string])[] = [
  ['disable-background-networking'],
  ['disable-component-update'],
  ['disable-domain-reliability'],
  ['dns-prefetch-disable'],
  ['no-pings'],
  ['host-resolver-rules', 'MAP * ~NOTFOUND'],
]

/** True for requests that stay inside the window. */
const isInside = (url: string): boolean =>
  isOwnUrl(url) ||
  url.startsWith('data:') ||
  url.startsWith(`blob:${appOrigin}/`) ||
  url.startsWith('devtools://')

/** Blocks requests to elsewhere; `onBlocked` receives each of them. */
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

/** Blocks navigation; `onLink` receives links to the web that the user followed. */
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

/** True if the page reloads itself, at any route. */
const isReload = (url: string): boolean => url.split('#')[0] === appPage

/** True for encrypted addresses without a name or password that would be sent along. */
function isWebLink(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed?.protocol === 'https:' && parsed.username === '' && parsed.password === ''
}

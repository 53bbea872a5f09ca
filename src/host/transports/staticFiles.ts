/** The window's files, with the security headers for the browser. */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { randomBytes } from 'node:crypto'
import { attempt } from '#shared/attempt.ts'

export interface StaticFile {
  /** Real path, links followed. */
  readonly file: string
  readonly contentType: string
  readonly sizeBytes: number
  /** True if its name changes with its content. */
  readonly isImmutable: boolean
}

const contentTypes: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.mjs', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.json', 'application/json; charset=utf-8'],
  ['.txt', 'text/plain; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.ico', 'image/x-icon'],
  ['.woff2', 'font/woff2'],
  ['.woff', 'font/woff'],
  ['.wasm', 'application/wasm'],
])

/** Names that a build writes: no encoding, no `..`, no hidden files, no drives or streams. */
const plainPath = /^(?:\/[A-Za-z0-9_@-][A-Za-z0-9_@.-]*)+$/

/**
 * The regular file that a URL's path (as sent, not decoded) names under `root`; null for anything else: links that
 * lead out of it, folders, kinds of files that a window does not have.
 */
export function findStaticFile(root: string, urlPath: string): StaticFile | null {
  const name = urlPath === '/' ? '/index.html' : urlPath
  const contentType = contentTypes.get(path.extname(name))
  if (!plainPath.test(name) || contentType === undefined) return null
  return attempt(() => {
    const file = realpathSync(path.join(root, name))
    const status = statSync(file)
    if (!status.isFile() || !file.startsWith(realpathSync(root) + path.sep)) return null
    return { file, contentType, sizeBytes: status.size, isImmutable: name.startsWith('/assets/') }
  }, null)
}

/** Placeholder in a page for the nonce of the response, as in `nonce="…"` of inline styles. */
export const noncePlaceholder = '__TURNWISE_NONCE__'

export const createNonce = (): string => randomBytes(16).toString('base64')

export const readPage = ({ file }: StaticFile, nonce: string): string =>
  readFileSync(file, 'utf8').replaceAll(noncePlaceholder, nonce)

/**
 * Policy that allows nothing from elsewhere, no frames, no inline code; inline styles only with the nonce. `sockets`:
 * origins of WebSockets.
 */
export const contentSecurityPolicy = (nonce: string, sockets: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "worker-src 'self'",
    ["connect-src 'self'", ...sockets].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** Sent with every response, the refusals too. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=(), payment=()',
}

/** Page shown where the window was not built. */
export const placeholderPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Turnwise</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <h1>Turnwise is running</h1>
    <p>The window of this copy has not been built. The command line and the API work; <code>npm run build</code> builds the window.</p>
  </body>
</html>
`

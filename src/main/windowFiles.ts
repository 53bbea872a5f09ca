/** The window's files over our own scheme, under the same rules as over HTTP. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { protocol, type Session } from 'electron'
import {
  contentSecurityPolicy,
  createNonce,
  findStaticFile,
  placeholderPage,
  readPage,
  securityHeaders,
} from '#host/transports/staticFiles.ts'
import { appScheme } from './origin.ts'

/** To be called before the app is ready. */
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
        // The files lie on this machine: a copy would only be stale after an update.
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

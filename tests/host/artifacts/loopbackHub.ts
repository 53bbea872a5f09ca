/** A hub on this machine, as far as fetching a model goes: its facts, the list of its files, the files with ranges. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import path from 'node:path'

const commit = 'c0ffee'.padEnd(40, '0')
export const repo = 'someone/tiny'

export interface Fault {
  /** Breaks the connection after so many bytes of a weights file, once. */
  cutAfter: number | null
  /** Sends other bytes than it states. */
  lies: boolean
  readonly asked: string[]
}

export const isLarge = (name: string) => name.endsWith('.safetensors')
const sha = (algorithm: string, ...parts: (string | Uint8Array)[]) => {
  const hash = createHash(algorithm)
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

function entryOf(source: string, name: string) {
  const content = readFileSync(path.join(source, name))
  const lfs = { oid: sha('sha256', content), size: content.length, pointerSize: 130 }
  const oid = sha('sha1', `blob ${content.length}\0`, content)
  return { type: 'file', path: name, size: content.length, oid, ...(isLarge(name) ? { lfs } : {}) }
}

function answer({ source, fault }: Content, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '', 'http://hub')
  fault.asked.push(`${request.method ?? ''} ${pathname} ${request.headers.range ?? ''}`.trim())
  const json = (value: unknown) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
  const resolved = new RegExp(`^/${repo}/resolve/${commit}/(.+)$`).exec(pathname)?.[1]
  if (pathname === `/api/models/${repo}/revision/main`)
    json({
      _id: '1',
      id: repo,
      sha: commit,
      downloads: 0,
      likes: 0,
      private: false,
      gated: false,
      lastModified: '2026-01-01T00:00:00Z',
    })
  else if (pathname.startsWith(`/api/models/${repo}/tree/${commit}`))
    json([
      ...readdirSync(source).map((name) => entryOf(source, name)),
      { type: 'file', path: 'run_me.py', size: 3, oid: 'x' },
    ])
  else if (resolved !== undefined)
    sendFile({ source, fault }, decodeURIComponent(resolved), request, response)
  else response.writeHead(404).end()
}

function rangeOf(header: string | undefined, length: number) {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? []
  const last = to ? Math.min(Number(to), length - 1) : length - 1
  return { from: Number(from ?? 0), to: last, isPart: from !== undefined }
}

function sendFile(
  { source, fault }: Content,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const content = Buffer.from(readFileSync(path.join(source, name)))
  if (fault.lies && isLarge(name)) content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  const { from, to, isPart } = rangeOf(request.headers.range, content.length)
  const body = content.subarray(from, to + 1)
  response.writeHead(isPart ? 206 : 200, {
    etag: `"${entryOf(source, name).oid}"`,
    'accept-ranges': 'bytes',
    'content-length': String(body.length),
    ...(isPart ? { 'content-range': `bytes ${from}-${to}/${content.length}` } : {}),
  })
  const cut = isLarge(name) && body.length > 1 ? fault.cutAfter : null
  if (cut === null) {
    response.end(body)
    return
  }
  fault.cutAfter = null
  response.write(body.subarray(0, cut), () => setTimeout(() => response.destroy(), 50))
}

interface Content {
  /** Folder of the model that it has. */
  readonly source: string
  readonly fault: Fault
}

export interface LoopbackHub extends AsyncDisposable {
  readonly endpoint: string
  readonly fault: Fault
}

/** Has one model, `someone/tiny`: the files of a folder. */
export async function startHub(source: string): Promise<LoopbackHub> {
  const fault: Fault = { cutAfter: null, lies: false, asked: [] }
  const server = createServer((request, response) => answer({ source, fault }, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    endpoint: `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`,
    fault,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

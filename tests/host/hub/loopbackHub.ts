/** A hub on this machine, as far as Turnwise asks: models by words and tags; a model's and a data set's files, with ranges. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import path from 'node:path'

const commit = 'c0ffee'.padEnd(40, '0')
export const repo = 'someone/tiny'
export const dataRepo = 'someone/rows'
export const dataCommit = 'da7a'.padEnd(40, '0')

export interface Fault {
  /** Breaks the connection after so many bytes of a weights file, once. */
  cutAfter: number | null
  /** Sends other bytes than it states. */
  lies: boolean
  readonly asked: string[]
  /** Access tokens that came with requests. */
  readonly tokens: Set<string>
}

export const isLarge = (name: string) => /\.(?:safetensors|gguf|parquet|jsonl)$/.test(name)
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

/** A model or a data set: where its files are asked for, and where they lie. */
interface Repository {
  readonly api: string
  readonly files: string
  readonly id: string
  readonly commit: string
  readonly source: string
}

const repositories = ({ source, data }: Sources): Repository[] => [
  { api: `/api/models/${repo}`, files: `/${repo}`, id: repo, commit, source },
  ...(data === undefined
    ? []
    : [
        {
          api: `/api/datasets/${dataRepo}`,
          files: `/datasets/${dataRepo}`,
          id: dataRepo,
          commit: dataCommit,
          source: data,
        },
      ]),
]

function answer({ sources, fault }: Content, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://hub')
  fault.asked.push(`${request.method ?? ''} ${pathname} ${request.headers.range ?? ''}`.trim())
  fault.tokens.add(request.headers.authorization ?? '')
  const json = (value: unknown) => sendJson(response, value)
  if (pathname === '/api/models') {
    sendJson(response, listedModels(sources, searchParams))
    return
  }
  for (const { api, files, id, commit: sha, source } of repositories(sources)) {
    const place = { files: `${files}/resolve/${sha}/`, tree: `${api}/tree/${sha}` }
    if (pathname === `${api}/revision/main`) json({ ...facts, id, sha })
    else if (pathname.replace(/\/$/, '') === place.tree)
      json(listing(source, searchParams.get('recursive') === 'true'))
    else if (pathname.startsWith(place.files))
      sendFile({ source, fault }, decodeURIComponent(pathname.slice(place.files.length)), request, response)
    else continue
    return
  }
  response.writeHead(404).end()
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(value))
}

/** As the hub lists them: all words in the name, every tag, most downloads first; only fields that are asked for. */
function listedModels({ source, others = [] }: Sources, asked: URLSearchParams): object[] {
  const words = (asked.get('search') ?? '').toLowerCase().split(' ')
  return [ownEntry(source), ...others]
    .filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)))
    .filter(({ tags }) => asked.getAll('filter').every((tag) => tags.includes(tag)))
    .toSorted((a, b) => b.downloads - a.downloads)
    .slice(0, Number(asked.get('limit')))
    .map((entry) => {
      const fields = Object.entries({ ...facts, ...entry })
      const wanted = new Set(['_id', 'id', ...asked.getAll('expand')])
      return Object.fromEntries(fields.filter(([name]) => wanted.has(name)))
    })
}

/** A model that is listed without files behind it. */
export interface ListedEntry {
  readonly id: string
  readonly downloads: number
  readonly tags: readonly string[]
  readonly [field: string]: unknown
}

function ownEntry(source: string): ListedEntry {
  const names = readdirSync(source)
  const config = names.includes('config.json')
    ? (JSON.parse(readFileSync(path.join(source, 'config.json'), 'utf8')) as Record<string, unknown>)
    : {}
  const { model_type: type = 'unknown', architectures = [] } = config
  return {
    id: repo,
    downloads: 12_345,
    tags: [String(type), 'license:mit', 'safetensors'],
    config: { model_type: type, architectures },
    cardData: { license: 'mit' },
    safetensors: { parameters: { F32: 20_000 }, total: 20_000 },
    siblings: names.map((rfilename) => ({ rfilename })),
  }
}

const facts = {
  _id: '1',
  downloads: 0,
  likes: 0,
  private: false,
  gated: false,
  lastModified: '2026-01-01T00:00:00Z',
}

function listing(source: string, isDeep: boolean): object[] {
  const names = readdirSync(source, { recursive: isDeep, encoding: 'utf8' })
  const isFolder = (name: string) => statSync(path.join(source, name)).isDirectory()
  return [
    ...names.map((name) =>
      isFolder(name) ? { type: 'directory', path: name, size: 0, oid: 'x' } : entryOf(source, name),
    ),
    { type: 'file', path: 'run_me.py', size: 3, oid: 'x' },
  ]
}

function rangeOf(header: string | undefined, length: number) {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? []
  const last = to ? Math.min(Number(to), length - 1) : length - 1
  return { from: Number(from ?? 0), to: last, isPart: from !== undefined }
}

function sendFile(
  { source, fault }: { readonly source: string; readonly fault: Fault },
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

interface Sources {
  /** Folder of the model that it has. */
  readonly source: string
  /** Folder of the data set that it has. */
  readonly data?: string | undefined
  readonly others?: readonly ListedEntry[] | undefined
}

interface Content {
  readonly sources: Sources
  readonly fault: Fault
}

export interface LoopbackHub extends AsyncDisposable {
  readonly endpoint: string
  readonly fault: Fault
}

/**
 * Has one model, `someone/tiny`, the files of a folder, and where it is given one data set, `someone/rows`; lists `others`
 * beside the model.
 */
export async function startHub(
  source: string,
  data?: string,
  others?: readonly ListedEntry[],
): Promise<LoopbackHub> {
  const fault: Fault = { cutAfter: null, lies: false, asked: [], tokens: new Set() }
  const content = { sources: { source, data, others }, fault }
  const server = createServer((request, response) => answer(content, request, response))
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

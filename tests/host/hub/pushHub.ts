/** A hub on this machine that takes models, by the requests of its library; large files go to a storage of another origin, as there. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Step = 'create' | 'look' | 'preupload' | 'batch' | 'store' | 'complete' | 'commit' | 'unknown'

/** Instead of the usual answer: a status, with the hub's words; a place to go on to; a connection that breaks; what was sent is not kept. */
export type Fault =
  { readonly status: number; readonly error?: string } | { readonly to: string } | 'lost' | 'discarded'

export interface Repository {
  isPrivate: boolean
  readonly files: Map<string, Buffer>
  commits: number
}

export interface PushHub extends AsyncDisposable {
  readonly endpoint: string
  /** Origin of the storage. */
  readonly storage: string
  readonly repositories: Map<string, Repository>
  readonly faults: Map<Step, Fault>
  /** Requests of all kinds, with the token that came with them. */
  readonly asked: { readonly step: Step; readonly origin: string; readonly authorization: string }[]
  /** Size of the parts in which large files are asked for; null: whole. */
  partBytes: number | null
  /** Called with each request; held until it resolves. */
  hold: (step: Step) => Promise<void> | void
}

const steps: readonly (readonly [Step, RegExp])[] = [
  ['create', /^POST \/api\/repos\/create$/],
  ['look', /^GET \/api\/models\/[^/]+\/[^/]+\/revision\/main\b/],
  ['preupload', /^POST \/api\/models\/[^/]+\/[^/]+\/preupload\/main$/],
  ['batch', /^POST \/[^/]+\/[^/]+\.git\/info\/lfs\/objects\/batch$/],
  ['store', /^PUT \/objects\/[0-9a-f]{64}(?:[?]part=\d+)?$/],
  ['complete', /^POST \/objects\/[0-9a-f]{64}$/],
  ['commit', /^POST \/api\/models\/[^/]+\/[^/]+\/commit\/main$/],
]

const firstCommit = 'e'.repeat(40)
const isLarge = (name: string) => /\.(?:safetensors|gguf|onnx|data|bin)$/.test(name)

interface State {
  readonly hub: PushHub
  readonly objects: Map<string, Buffer>
}

type Fields = Record<string, unknown>

export async function startPushHub(): Promise<PushHub> {
  const objects = new Map<string, Buffer>()
  const servers = [0, 1].map(() => createServer())
  const [endpoint = '', storage = ''] = await Promise.all(servers.map(listen))
  const hub: PushHub = {
    endpoint,
    storage,
    repositories: new Map(),
    faults: new Map(),
    asked: [],
    partBytes: null,
    hold: () => undefined,
    async [Symbol.asyncDispose]() {
      for (const server of servers) server.closeAllConnections()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
  servers.forEach((server, at) =>
    server.on('request', (request, response) => {
      const place = at === 0 ? endpoint : storage
      // Whoever asked may be gone.
      answer({ hub, objects }, place, request, response).catch(() => response.destroy())
    }),
  )
  return hub
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
}

async function answer(state: State, origin: string, request: IncomingMessage, response: ServerResponse) {
  const { url = '', method = '', headers } = request
  const [step] = steps.find(([, form]) => form.test(`${method} ${url}`)) ?? ['unknown']
  const { hub } = state
  hub.asked.push({ step, origin, authorization: headers.authorization ?? '' })
  await hub.hold(step)
  const fault = hub.faults.get(step)
  if (typeof fault === 'string') {
    await unread(fault, request, response)
    return
  }
  const body = await bodyOf(request)
  if (fault === undefined) answers[step](state, { url, body }, response)
  else if ('to' in fault) response.writeHead(307, { location: fault.to }).end()
  else send(response, { error: fault.error ?? 'no' }, fault.status)
}

async function unread(fault: 'lost' | 'discarded', request: IncomingMessage, response: ServerResponse) {
  // In the middle of what is sent, if anything is.
  if (request.method !== 'GET') await once(request, 'data')
  if (fault === 'lost') request.destroy()
  else {
    await once(request.resume(), 'end')
    response.end()
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function send(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

interface Asked {
  readonly url: string
  readonly body: Buffer
}

const fieldsOf = ({ body }: Asked): Fields => JSON.parse(body.toString('utf8')) as Fields
const nameIn = (url: string): string => /^\/api\/models\/([^/]+\/[^/]+)\//.exec(url)?.[1] ?? ''

const answers: Readonly<Record<Step, (state: State, asked: Asked, response: ServerResponse) => void>> = {
  unknown: (_, { url }, response) => send(response, { error: `Expected another request than ${url}.` }, 500),

  create({ hub }, asked, response) {
    const { organization, name, visibility } = fieldsOf(asked)
    const id = `${String(organization)}/${String(name)}`
    if (hub.repositories.has(id)) {
      send(response, { error: 'You already created this model repo' }, 409)
      return
    }
    const files = new Map([['.gitattributes', Buffer.from('*.bin filter=lfs\n')]])
    hub.repositories.set(id, { isPrivate: visibility === 'private', files, commits: 0 })
    send(response, { id, url: `${hub.endpoint}/${id}` })
  },

  look({ hub }, { url }, response) {
    const id = nameIn(url)
    const found = hub.repositories.get(id)
    if (found === undefined) {
      send(response, { error: 'Repository not found' }, 404)
      return
    }
    const siblings = [...found.files.keys()].map((rfilename) => ({ rfilename }))
    const facts = { _id: '1', downloads: 0, likes: 0, gated: false, lastModified: '2026-01-01T00:00:00Z' }
    send(response, { ...facts, id, private: found.isPrivate, sha: firstCommit, siblings })
  },

  preupload(_, asked, response) {
    const files = (fieldsOf(asked)['files'] as { path: string }[]).map(({ path }) => path)
    send(response, {
      files: files.map((path) => ({ path, uploadMode: isLarge(path) ? 'lfs' : 'regular' })),
    })
  },

  batch({ hub, objects }, asked, response) {
    const { objects: wanted, transfers } = fieldsOf(asked) as {
      objects: { oid: string; size: number }[]
      transfers: string[]
    }
    const upload = ({ oid, size }: { oid: string; size: number }) => {
      const href = `${hub.storage}/objects/${oid}`
      const part = (at: number): [string, string] => [
        String(at + 1).padStart(5, '0'),
        `${href}?part=${String(at + 1)}`,
      ]
      const { partBytes } = hub
      if (objects.has(oid)) return {}
      if (partBytes === null || size <= partBytes) return { actions: { upload: { href } } }
      const parts = Array.from({ length: Math.ceil(size / partBytes) }, (_none, at) => part(at))
      const header = { chunk_size: String(partBytes), ...Object.fromEntries(parts) }
      return { actions: { upload: { href, header } } }
    }
    const transfer = transfers.includes('xet') ? 'xet' : 'basic'
    send(response, { transfer, objects: wanted.map((object) => ({ ...object, ...upload(object) })) })
  },

  store({ objects }, { url, body }, response) {
    const name = url.slice('/objects/'.length)
    const isPart = name.includes('?')
    const isSame = isPart || createHash('sha256').update(body).digest('hex') === name
    if (isSame) objects.set(name, body)
    response.writeHead(isSame ? 200 : 400, { etag: `"${name}"` }).end()
  },

  complete({ objects }, asked, response) {
    const { oid, parts } = fieldsOf(asked) as { oid: string; parts: { partNumber: number; etag: string }[] }
    const body = Buffer.concat(parts.map(({ etag }) => objects.get(etag.slice(1, -1))!))
    const isSame = createHash('sha256').update(body).digest('hex') === oid
    if (isSame) objects.set(oid, body)
    send(response, {}, isSame ? 200 : 400)
  },

  commit({ hub, objects }, { url, body }, response) {
    const repository = hub.repositories.get(nameIn(url))!
    const [header, ...operations] = body
      .toString('utf8')
      .split('\n')
      .map((line) => JSON.parse(line) as { key: string; value: Record<string, string> })
    const parent = header?.value['parentCommit']
    if (parent !== firstCommit || repository.commits > 0) {
      send(response, { error: 'A commit has happened since' }, 412)
      return
    }
    for (const { key, value } of operations) {
      const content =
        key === 'lfsFile' ? objects.get(value['oid']!) : Buffer.from(value['content']!, 'base64')
      repository.files.set(value['path']!, content ?? Buffer.alloc(0))
    }
    repository.commits += 1
    send(response, { commitOid: 'f'.repeat(40), commitUrl: `${hub.endpoint}/commit`, hookOutput: '' })
  },
}

/** Retrievers of the search environment: a corpus of the user's own, or a server at an address in the config. */
import { isOnThisMachine, webAddressWords, webUrl } from '#shared/config/addresses.ts'
import { invalidConfig } from '#shared/errors.ts'
import type { Retrieve } from '#rl/environments/tasks/common.ts'
import { countBeside } from '#host/outboundRequests.ts'
import { openCorpus } from './corpus.ts'

type Settings = Readonly<Record<string, string | number | boolean>>

export interface RetrieverPlace {
  readonly cacheDirectory: string
  /** Called before another machine is contacted; default: counts it as a search. */
  readonly onRequest?: () => void
}

export const requestCounter = ({ cacheDirectory, onRequest }: RetrieverPlace): (() => void) =>
  onRequest ?? (() => countBeside(cacheDirectory, 'search'))

export interface OpenRetriever extends Disposable {
  readonly retrieve: Retrieve
}

export const searches = (known: Settings): boolean =>
  Object.hasOwn(known, 'corpus') && Object.hasOwn(known, 'url')

type Sought = { readonly corpus: string } | { readonly address: URL; readonly server: Server }

/** Errors: AppError 'config/invalid' for settings that name no corpus or server, or both. */
export function soughtIn({ corpus = '', url = '', api = 'searxng' }: Settings): Sought {
  if ((corpus === '') === (url === '')) {
    throw invalidConfig(
      corpus === ''
        ? 'The search environment has nothing to search in.'
        : 'The search environment has both a corpus and the address of a server.',
      'Set environment.settings.corpus to a file of documents, or environment.settings.url to the address of a search engine.',
    )
  }
  if (corpus !== '') return { corpus: String(corpus) }
  return { address: addressOf(String(url)), server: serverOf(String(api)) }
}

/** Errors: as soughtIn and openCorpus. */
export async function openRetriever(settings: Settings, place: RetrieverPlace): Promise<OpenRetriever> {
  const sought = soughtIn(settings)
  if (!('corpus' in sought))
    return { retrieve: serverAt(sought, requestCounter(place)), [Symbol.dispose]: () => {} }
  const index = await openCorpus(sought.corpus, place.cacheDirectory)
  return {
    retrieve: (query, count) =>
      Promise.resolve(
        index.search(query, count).map(({ title, text }) => (title === '' ? text : `${title}: ${text}`)),
      ),
    [Symbol.dispose]: () => index[Symbol.dispose](),
  }
}

function addressOf(url: string): URL {
  const address = webUrl(url)
  if (address !== null) return address
  throw invalidConfig(
    `“${url}” is not ${webAddressWords}.`,
    'Set environment.settings.url to the address of a search engine.',
  )
}

function serverOf(api: string): Server {
  const server = Object.hasOwn(servers, api) ? servers[api] : undefined
  if (server !== undefined) return server
  throw invalidConfig(
    `The search environment does not support “${api}”.`,
    `Set environment.settings.api to ${Object.keys(servers).join(' or ')}.`,
  )
}

/** The request of a kind of server, and where its response holds the texts. */
interface Server {
  ask(address: URL, query: string, count: number): { readonly url: URL; readonly body?: unknown }
  texts(answer: unknown): readonly unknown[]
}

const servers: Readonly<Record<string, Server>> = {
  /** `GET ?q=…&format=json` → `{ results: [{ content }] }` */
  searxng: {
    ask(address, query) {
      const url = new URL(address)
      url.searchParams.set('q', query)
      url.searchParams.set('format', 'json')
      return { url }
    },
    texts: (answer) => listIn(answer, 'results').map((entry) => fieldOf(entry, 'content')),
  },
  /** `POST { queries, topk, return_scores }` → `{ result: [[{ document: { contents }, score }]] }`, as Search-R1 has it. */
  retriever: {
    ask: (url, query, count) => ({ url, body: { queries: [query], topk: count, return_scores: true } }),
    texts(answer) {
      const [found] = listIn(answer, 'result')
      if (!Array.isArray(found)) throw new Error('the answer has no list of results for the query')
      return found.map((entry: unknown) => {
        const document = fieldOf(entry, 'document') ?? entry
        return typeof document === 'string' ? document : fieldOf(document, 'contents')
      })
    },
  },
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function listIn(answer: unknown, name: string): unknown[] {
  const list = fieldOf(answer, name)
  if (!Array.isArray(list)) throw new Error(`the answer has no list called “${name}”`)
  return list
}

/** Pages of results are a few kilobytes; anything larger is refused. */
const maxBytes = 2 << 20

/** Requests exactly this address, follows no redirects, and reads at most `maxBytes`. */
function serverAt({ address, server }: Exclude<Sought, { corpus: string }>, onRequest: () => void): Retrieve {
  return async (query, count, signal) => {
    const { url, body } = server.ask(address, query, count)
    if (!isOnThisMachine(url.href)) onRequest()
    const response = await fetch(url, {
      signal,
      redirect: 'error',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`the search engine responded with status ${response.status}`)
    const texts = server.texts(JSON.parse(await boundedText(response)))
    return texts.map((text) => (typeof text === 'string' ? text : ''))
  }
}

async function boundedText({ body }: Response): Promise<string> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    size += part.value.byteLength
    if (size > maxBytes) {
      await reader?.cancel()
      throw new Error('the answer is too large')
    }
    chunks.push(part.value)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The part of a Python package index (PEP 503 and 691) needed to download ranges of wheels. */
import { z } from 'zod'
import { defaultPackageIndex } from '#shared/device.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { webAddress } from '#host/outboundRequests.ts'
import type { Wheel } from './cudaManifest.ts'

export interface IndexAccess {
  /** Address such as https://pypi.org/simple. */
  readonly index: string
  /** Called before a request, with its address. */
  readonly onRequest: (address: string) => void
  readonly signal: AbortSignal
}

/** Errors: AppError 'usage/invalid' for an address that cannot be used. */
export function readIndex(given: unknown): string {
  if (given === null || given === undefined || given === '') return defaultPackageIndex
  const address = typeof given === 'string' ? webAddress(given) : null
  if (address !== null) return address
  throw usageError(
    'The address of the package index cannot be used.',
    'Give one that begins with https:// and contains no password, such as https://pypi.org/simple.',
  )
}

const maxPageBytes = 32 << 20

const page = z.object({
  files: z.array(
    z.object({
      filename: z.string(),
      url: z.string(),
      hashes: z.record(z.string(), z.string()).default({}),
    }),
  ),
})

interface Listed {
  readonly url: string
  /** Digest; null: it is not stated. */
  readonly sha256: string | null
}

/**
 * Finds a wheel in the index. Errors: AppError 'server/unreachable', 'server/failed' where it does not answer,
 * 'server/unsuitable' where it has no such file or another one of that name, 'api/cancelled'.
 */
export async function findWheel(wheel: Wheel, access: IndexAccess): Promise<string> {
  const { index } = access
  const response = await ask(`${index}/${wheel.package}/`, access, {
    accept: 'application/vnd.pypi.simple.v1+json, text/html;q=0.5',
  })
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const text = await readPage(response)
  const found = (isJson ? listedInJson(text) : listedInHtml(text)).get(wheel.file)
  if (found === undefined) throw unsuitable(index, `has no ${wheel.file}`)
  if (found.sha256 !== null && found.sha256 !== wheel.sha256)
    throw unsuitable(index, `has a different ${wheel.file} than Turnwise expects`)
  const address = webAddress(URL.parse(found.url, response.url)?.href ?? '')
  if (address === null) throw unsuitable(index, `serves ${wheel.file} without https`)
  return address
}

function listedInJson(text: string): ReadonlyMap<string, Listed> {
  const { success, data } = page.safeParse(parsedJson(text))
  if (!success) return new Map()
  return new Map(
    data.files.map(({ filename, url, hashes }) => [filename, { url, sha256: hashes['sha256'] ?? null }]),
  )
}

/** Older indexes: a page of links, with digests behind `#`. */
function listedInHtml(text: string): ReadonlyMap<string, Listed> {
  const links = text.matchAll(/<a\s[^>]{0,2000}?href="([^"<>]{1,2000})"/gi)
  return new Map(
    [...links].map(([, href = '']) => {
      const [address = '', fragment = ''] = href.replaceAll('&amp;', '&').split('#')
      return [
        address.split(/[/?]/).findLast((part) => part.endsWith('.whl')) ?? '',
        { url: address, sha256: /sha256=([0-9a-f]{64})/.exec(fragment)?.[1] ?? null },
      ]
    }),
  )
}

async function readPage(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of contentOf(response)) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > maxPageBytes)
      throw new AppError('server/unsuitable', 'The package index sent a page that is too large.')
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Bytes of a file from `start` up to `end`, which is left out. A server that knows no ranges is heard from its beginning. Errors: as `findWheel`. */
export async function* bytesOf(
  address: string,
  { start, end }: { readonly start: number; readonly end: number },
  access: IndexAccess,
): AsyncGenerator<Uint8Array> {
  const response = await ask(address, access, { range: `bytes=${start}-${end - 1}` })
  let at = response.status === 206 ? start : 0
  for await (const chunk of contentOf(response)) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at))
    at += chunk.byteLength
    if (piece.byteLength > 0) yield piece
    if (at >= end) return
  }
  throw lost()
}

async function ask(
  address: string,
  { onRequest, signal, index }: IndexAccess,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  onRequest(address)
  // Compressed on the way, a range would not be the bytes that are meant.
  const request = { headers: { 'accept-encoding': 'identity', ...headers }, signal }
  const response = await fetch(address, request).catch((error: unknown) => {
    throw told(error)
  })
  if (response.ok) return response
  await response.body?.cancel().catch(() => undefined)
  const place = new URL(address).host
  throw response.status === 404
    ? unsuitable(index, `has no ${address.split('/').findLast(Boolean) ?? address}`)
    : new AppError(
        'server/failed',
        `${place} answered with status ${response.status}.`,
        `${kept} Try again later.`,
      )
}

/** A connection may be lost in the middle too. */
async function* contentOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw told(error)
      })
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

const kept = 'What was downloaded is kept.'

const lost = (): AppError =>
  new AppError(
    'server/unreachable',
    'The package index cannot be reached.',
    `${kept} Check the connection, then install again: it continues from there.`,
  )

function told(error: unknown): Error {
  if (error instanceof Error && error.name === 'AbortError')
    return new AppError(
      'api/cancelled',
      'Installing was stopped.',
      `${kept} Installing again continues from there.`,
    )
  return error instanceof TypeError ? lost() : (error as Error)
}

const unsuitable = (index: string, what: string): AppError =>
  new AppError(
    'server/unsuitable',
    `The package index ${index} ${what}.`,
    'Nothing was installed. Choose another index, such as https://pypi.org/simple.',
  )

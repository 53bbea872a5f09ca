/** Models from a hub, fetched into a folder of the uploads: looked at and imported like a folder that a browser sent. */
import { createHash } from 'node:crypto'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError } from '#shared/errors.ts'
import { fetchModel, readHubAddress } from '../artifacts/hub.ts'
import { dataFolders } from '../dataDirectory.ts'
import type { Host } from '../host.ts'
import { countOutboundRequest } from '../outboundRequests.ts'

const usualEndpoint = 'https://huggingface.co'
const isLoopback = (endpoint: string): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(endpoint).hostname)

export async function* fetchFromHub(
  { dataDirectory, store }: Host,
  address: string,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'models.fetch'>> {
  const endpoint = readEndpoint(store.settings.get('hub.endpoint'))
  const token = store.settings.get('hub.token')
  const model = readHubAddress(address, endpoint)
  const uploadId = idOf(`${endpoint} ${model.repo} ${model.revision}`)
  const access = {
    endpoint,
    token: typeof token === 'string' && token !== '' ? token : null,
    onRequest: () => {
      if (!isLoopback(endpoint)) countOutboundRequest(dataDirectory)
    },
    signal,
  }
  const folder = path.join(dataFolders(dataDirectory).uploads, uploadId)
  for await (const { doneBytes, totalBytes } of fetchModel(model, folder, access)) {
    yield { progress: { phase: 'Fetching', done: doneBytes, total: totalBytes, unit: 'bytes' } }
  }
  yield { result: { uploadId, name: path.basename(model.repo) } }
}

function readEndpoint(given: unknown): string {
  if (given === null || given === undefined || given === '') return usualEndpoint
  const url = typeof given === 'string' ? URL.parse(given) : null
  const isSafe =
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.href)))
  if (isSafe) return url.href.replace(/\/+$/, '')
  throw new AppError(
    'usage/invalid',
    'The address of the hub cannot be used.',
    'Give one that begins with https:// under Settings, Privacy.',
  )
}

/** The same for the same model, so that what was fetched before is found again. */
function idOf(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex')
  const places = [0, 8, 12, 16, 20, 32] as const
  const parts = places.slice(1).map((end, i) => digest.slice(places[i], end))
  return `upl_${parts.join('-')}`
}

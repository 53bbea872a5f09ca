/** Models and data sets from a hub, fetched into a folder of the uploads: looked at and imported like what a browser sent. */
import { createHash } from 'node:crypto'
import path from 'node:path'
import { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { defaultHub } from '#shared/hub.ts'
import { usageError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowedKey } from '#host/consents/keys.ts'
import { countOutboundRequest, webAddress } from '#host/outboundRequests.ts'
import { readHubAddress, tokenVariable, type HubKind, type HubPlace, type HubAccess } from './hub.ts'
import {
  chooseSplit,
  fetchSplit,
  openHubData,
  originOf,
  type HubData,
  type SplitChoice,
  writeFetched,
} from './fetchData.ts'
import type { HubProgress } from './fetchFiles.ts'
import { fetchModel } from './hubModel.ts'

/** Hub options of a command line; the settings apply where one is absent. */
export interface GivenHub {
  readonly endpoint?: string | undefined
  readonly token?: string | undefined
}

/** Errors: AppError 'usage/invalid' for an endpoint that cannot be used. */
export function hubAccess(
  { dataDirectory, store }: DataStorage,
  signal: AbortSignal,
  given: GivenHub = {},
): HubAccess {
  const own = readEndpoint(store.settings.get('hub.endpoint'))
  const endpoint = given.endpoint === undefined ? own : readEndpoint(given.endpoint)
  // A token is for the hub it was set for.
  const kept = endpoint === own ? keptToken(store.settings.get('hub.token'), endpoint) : null
  // A token of the environment is for the hub named with it, or the usual one: settings can be changed over the API.
  const isNamed = given.endpoint !== undefined || endpoint === defaultHub
  const token = (isNamed ? given.token : undefined) ?? kept
  return {
    endpoint,
    token: typeof token === 'string' && token !== '' ? token : null,
    onRequest: () => {
      if (!isOnThisMachine(endpoint)) countOutboundRequest(dataDirectory, 'hub')
    },
    signal,
  }
}

/**
 * Access for sending to a hub, with the token of the environment alone, and only if the person allowed it for this hub: the stored one was
 * given for downloads. Errors: AppError 'usage/invalid' where there is no token; as `hubAccess` and `allowedKey`.
 */
export function pushAccess(storage: DataStorage, signal: AbortSignal, given?: string): HubAccess {
  const access = hubAccess(storage, signal, { endpoint: given })
  requireToken(access)
  const named = { variable: tokenVariable, address: access.endpoint, who: 'hub' }
  const place = { consents: consentsFile(storage.dataDirectory), environment: process.env }
  return { ...access, token: allowedKey(named, place) }
}

/** Errors: AppError 'usage/invalid' where the environment has no token. */
export function requireToken({ endpoint }: HubAccess): void {
  if ((process.env[tokenVariable] ?? '') !== '') return
  throw usageError(
    `Pushing needs an access token, but the environment variable ${tokenVariable} is not set.`,
    `Nothing was sent. Make a token that may write at ${endpoint}/settings/tokens, and set ${tokenVariable} to it where Turnwise is started.`,
  )
}

/** The setting `hub.token`, with the origin that it was stored for: whatever changes the address does not get it. */
const storedToken = z.object({ token: z.string(), origin: z.string() })

function keptToken(stored: unknown, endpoint: string): string | null {
  const { data } = storedToken.safeParse(stored)
  return data?.origin === new URL(endpoint).origin ? data.token : null
}

export const placeAt = (address: string, { endpoint }: HubAccess, kind: HubKind): HubPlace =>
  readHubAddress(address, endpoint, kind)

export async function* fetchFromHub(
  host: DataStorage,
  { address, file = null, license }: InputOf<Api, 'models.fetch'>,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'models.fetch'>> {
  const access = hubAccess(host, signal)
  const place = placeAt(address, access, 'model')
  const { uploadId, folder } = modelFolderOf(host, access, place, file)
  for await (const progress of fetchModel(place, { file, license }, folder, access))
    yield progressItem(progress)
  yield { result: { uploadId, name: path.basename(place.repo) } }
}

export async function listOnHub(
  host: DataStorage,
  address: string,
  signal: AbortSignal,
): Promise<OutputOf<Api, 'datasets.listOnHub'>> {
  const access = hubAccess(host, signal)
  const data = await openHubData(placeAt(address, access, 'dataset'), access)
  const { commit, configs, files } = data
  const bytes = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + (files.get(name)?.size ?? 0), 0)
  return {
    repo: commit.place.repo,
    commit: commit.commit,
    configs: configs.map(({ name, splits }) => ({
      name,
      splits: splits.map((split) => ({
        name: split.name,
        files: split.files.length,
        sizeBytes: bytes(split.files),
      })),
    })),
  }
}

export async function* fetchDataFromHub(
  host: DataStorage,
  { address, config, split }: InputOf<Api, 'datasets.fetch'>,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'datasets.fetch'>> {
  const access = hubAccess(host, signal)
  const data = await openHubData(placeAt(address, access, 'dataset'), access)
  const fetching = splitFetch(host, data, { config, split })
  for await (const progress of fetching.run()) yield progressItem(progress)
  yield { result: { uploadId: fetching.uploadId, name: fetching.name } }
}

export interface SplitFetch {
  readonly uploadId: string
  readonly folder: string
  readonly name: string
  readonly sizeBytes: number
  /** Yields its progress; afterwards the folder records which files hold the rows. */
  run(): AsyncGenerator<HubProgress>
}

/** Errors: AppError 'usage/invalid' where there is no such config or split; `run`: those of fetching. */
export function splitFetch(host: DataStorage, data: HubData, choice: SplitChoice): SplitFetch {
  const chosen = chooseSplit(data, choice)
  const { place, commit, access } = data.commit
  const { config, split } = chosen
  const { uploadId, folder } = fetchFolder(host, access, [place.repo, commit, config, split.name])
  const parts = [path.basename(place.repo), ...(config === 'default' ? [] : [config]), split.name]
  return {
    uploadId,
    folder,
    name: parts.join('-').replaceAll('/', '-'),
    sizeBytes: split.files.reduce((sum, name) => sum + (data.files.get(name)?.size ?? 0), 0),
    async *run() {
      yield* fetchSplit(data, chosen, folder)
      writeFetched(folder, originOf(data, chosen), split.files)
    },
  }
}

const progressItem = ({ doneBytes: done, totalBytes: total }: HubProgress) => ({
  progress: { phase: 'Fetching', done, total, unit: 'bytes' as const },
})

function readEndpoint(given: unknown): string {
  if (given === null || given === undefined || given === '') return defaultHub
  const address = typeof given === 'string' ? webAddress(given) : null
  if (address !== null) return address
  throw usageError(
    'The address of the hub cannot be used.',
    'Give one that begins with https://, under Settings, Access or with --endpoint.',
  )
}

/** Folder that a model is fetched to. `file`: the GGUF file that is fetched alone. */
export const modelFolderOf = (host: DataStorage, access: HubAccess, place: HubPlace, file: string | null) =>
  fetchFolder(host, access, [place.repo, place.revision, ...(file === null ? [] : [file])])

/** Returns the same folder for the same content, so that earlier fetches are found again. */
function fetchFolder({ dataDirectory }: DataStorage, { endpoint }: HubAccess, what: readonly string[]) {
  const digest = createHash('sha256')
    .update([endpoint, ...what].join(' '))
    .digest('hex')
  const places = [0, 8, 12, 16, 20, 32] as const
  const parts = places.slice(1).map((end, i) => digest.slice(places[i], end))
  const uploadId = `upl_${parts.join('-')}`
  return { uploadId, folder: path.join(dataFolders(dataDirectory).uploads, uploadId) }
}

/**
 * Requests to a hub, and the ways in which it can refuse them. Reading guide of this folder: `searchModels` and
 * `knownModels` find models, `hubModel` is one of them, with its licence (`card`); `fetchFiles` brings files of one commit into a folder, keeps
 * what came before and compares digests; `fetchData` says which files of a data set, `splits`, what they say about its
 * parts; `push` sends an export. Nothing that was fetched is run.
 */
import {
  datasetInfo,
  downloadFile,
  HubApiError,
  listFiles,
  modelInfo,
  type ListFileEntry,
} from '@huggingface/hub'
import { AppError, usageError } from '#shared/errors.ts'
import { hidingStrings, keyAsSent, keyHider } from '#host/consents/keys.ts'
import type { JsonObject } from '#host/files/strictJson.ts'
import { frontMatter } from './card.ts'

/** Environment variable that holds the access token. */
export const tokenVariable = 'HF_TOKEN'

export interface HubAccess {
  /** Such as https://huggingface.co. */
  readonly endpoint: string
  readonly token: string | null
  /** Called before every request. */
  readonly onRequest: () => void
  readonly signal: AbortSignal
}

/** One commit of a model or data set, so that changes made meanwhile are never fetched by halves. */
export interface HubCommit {
  readonly place: HubPlace
  readonly commit: string
  readonly access: HubAccess
}

export type HubFile = ListFileEntry

/** Errors: as `asked`. */
export async function openCommit(place: HubPlace, access: HubAccess): Promise<HubCommit> {
  const { kind, repo: name, revision } = place
  const request = { name, revision, additionalFields: ['sha' as const], ...clientOf(access) }
  const { sha: commit } = await asked(
    place,
    async () => await (kind === 'model' ? modelInfo(request) : datasetInfo(request)),
  )
  return { place, commit, access }
}

const maxListed = 50_000

/**
 * Lists the files of a commit, those in folders too if `isDeep`. Errors: as `asked`; AppError of the place if there are
 * too many.
 */
export function listCommit({ place, commit, access }: HubCommit, isDeep: boolean): Promise<HubFile[]> {
  const repo = { type: place.kind, name: place.repo }
  return asked(place, async () => {
    const files: HubFile[] = []
    const listed = listFiles({ repo, revision: commit, recursive: isDeep, ...clientOf(access) })
    for await (const file of listed) {
      if (files.length === maxListed) throw invalid(place, `${place.repo} has too many files to choose from.`)
      if (file.type === 'file') files.push(file)
    }
    return files
  })
}

/** The content of a file, fetched where it is read. Errors: as `asked`, and where it is not there any more. */
export async function openFile({ place, commit, access }: HubCommit, path: string): Promise<Blob> {
  const blob = await asked(place, () =>
    downloadFile({
      repo: { type: place.kind, name: place.repo },
      path,
      revision: commit,
      xet: false,
      ...clientOf(access, 'file'),
    }),
  )
  if (blob !== null) return blob
  throw invalid(place, `${place.repo} no longer has ${path}.`)
}

const maxTextBytes = 1 << 20
/** Bytes read beyond that, so that a key at the limit is not cut. */
const longestKeyBytes = 1 << 16

/** The first megabyte of a file that is read as text, without the access token. Errors: as `openFile`. */
export async function textOf(commit: HubCommit, path: string): Promise<string> {
  const text = await startOf(commit, path)
  return keyHider(tokenOf(commit.access))(text).slice(0, maxTextBytes)
}

/**
 * Front matter of a card, without the access token, which is looked for in the parsed values, since YAML has escapes of
 * its own. Errors: as `openFile`.
 */
export async function cardOf(commit: HubCommit): Promise<JsonObject> {
  const card = frontMatter(await startOf(commit, 'README.md'))
  return JSON.parse(JSON.stringify(card), hidingStrings(keyHider(tokenOf(commit.access)))) as JsonObject
}

async function startOf(commit: HubCommit, path: string): Promise<string> {
  const blob = await openFile(commit, path)
  return asked(commit.place, () => blob.slice(0, maxTextBytes + longestKeyBytes).text())
}

const tokenOf = ({ token }: HubAccess): string | null =>
  token && keyAsSent(token, 'The access token of the hub')

/**
 * An access token goes to the hub alone, never to the servers it sends one on to, and does not come back in what the hub says. Files are
 * left as they are: they are compared with their digests.
 */
export const clientOf = (access: HubAccess, content: 'file' | 'answer' = 'answer') => ({
  hubUrl: access.endpoint,
  fetch: (async (input, init) => {
    access.onRequest()
    const token = tokenOf(access)
    const headers = new Headers(init?.headers)
    const url = new URL(input instanceof Request ? input.url : input)
    if (token !== null && url.origin === new URL(access.endpoint).origin)
      headers.set('authorization', `Bearer ${token}`)
    const signal = init?.signal ? AbortSignal.any([access.signal, init.signal]) : access.signal
    const response = await fetch(input, { ...init, headers, signal })
    if (token === null || content === 'file' || response.body === null) return response
    return new Response(withoutKey(await response.text(), keyHider(token)), response)
  }) satisfies typeof fetch,
})

/** JSON is looked through as it is read; what nests too deeply for that is no answer. */
function withoutKey(text: string, hide: (text: string) => string): string {
  try {
    return JSON.stringify(JSON.parse(text, hidingStrings(hide)))
  } catch (error) {
    return error instanceof SyntaxError ? hide(text) : ''
  }
}

/**
 * Errors: AppError 'model/invalid' or 'data/invalid' where the hub has no such thing or does not let it be read;
 * 'api/disconnected' where the hub is not reached; 'api/cancelled'.
 */
export async function asked<T>(place: HubPlace, ask: () => Promise<T>): Promise<T> {
  const advice = `What was downloaded is kept. Check the connection, then download the ${kindWords[place.kind]} again.`
  return translated(ask, (status) => refused(place, status), advice)
}

/** Like `asked`, but for requests about the hub as a whole. Errors: AppError 'api/disconnected', 'api/cancelled'. */
export const askedHub = <T>(ask: () => Promise<T>): Promise<T> =>
  translated(ask, statusError, 'Check the connection and the address of the hub, then try again.')

async function translated<T>(
  ask: () => Promise<T>,
  refusal: (status: number) => AppError,
  advice: string,
): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof HubApiError) throw refusal(error.statusCode)
    if (error instanceof Error && error.name === 'AbortError')
      throw new AppError('api/cancelled', 'The download was stopped.', 'What was downloaded is kept.')
    // A hub that answers with a page instead of JSON is none.
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error
    throw new AppError('api/disconnected', 'The hub cannot be reached.', advice)
  }
}

const statusError = (status: number): AppError =>
  new AppError('api/disconnected', `The hub answered with status ${status}.`, 'Try again later.')

export const invalid = ({ kind }: HubPlace, sentence: string, hint?: string): AppError =>
  new AppError(kind === 'model' ? 'model/invalid' : 'data/invalid', sentence, hint)

function refused(place: HubPlace, status: number): AppError {
  const what = kindWords[place.kind]
  if (status !== 401 && status !== 403 && status !== 404) return statusError(status)
  return invalid(
    place,
    `The hub has no ${what} “${place.repo}”, or does not allow access to it.`,
    `Check the name; a ${what} with terms needs an access token, set under Settings, Access.`,
  )
}

/* What people paste: ids and addresses of models and data sets on a hub. */

export type HubKind = 'model' | 'dataset'

export interface HubPlace {
  readonly kind: HubKind
  /** Such as HuggingFaceTB/SmolLM2-135M. */
  readonly repo: string
  /** A branch, tag or commit. */
  readonly revision: string
}

/** Names of the kinds in texts for people. */
export const kindWords: Readonly<Record<HubKind, string>> = { model: 'model', dataset: 'data set' }

const repoPattern = /^[\w.-]{1,96}\/[\w.-]{1,96}$/
const defaultRevision = 'main'

/**
 * `owner/name`, `owner/name@revision`, or an address of its page or of one of its revisions; of a data set also with
 * `datasets/` in front. Errors: AppError 'usage/invalid'.
 */
export function readHubAddress(text: string, endpoint: string, kind: HubKind): HubPlace {
  const place = readPlace(text.trim().replace(/\/+$/, ''), endpoint, kind)
  if (place !== null) return { kind, ...place }
  const form = kind === 'dataset' ? `${endpoint}/datasets` : endpoint
  throw usageError(
    `“${text}” is not the address of a ${kindWords[kind]}.`,
    `Give owner/name, or the address of its page below ${form}.`,
  )
}

function readPlace(given: string, endpoint: string, kind: HubKind): Omit<HubPlace, 'kind'> | null {
  const path = given.startsWith(`${endpoint}/`) ? given.slice(endpoint.length + 1) : given
  const [, place = '', tag = defaultRevision] = /^([^@]*)(?:@(.+))?$/.exec(path) ?? []
  const [owner, name, ...page] = withoutKind(place, kind).split('/')
  const repo = [owner, name].join('/')
  const revision = page.length === 0 ? tag : revisionOf(page, kind)
  return isRepo(repo) && revision !== null ? { repo, revision } : null
}

export const isRepo = (repo: string): boolean => repoPattern.test(repo) && !repo.includes('..')

const withoutKind = (place: string, kind: HubKind): string =>
  kind === 'dataset' ? place.replace(/^datasets\//, '') : place

/** Reads the revision that follows the name in an address; null if the address is not that of the whole repository. */
function revisionOf([page, ...rest]: readonly string[], kind: HubKind): string | null {
  // The page that shows the rows; which of them are meant is asked for later.
  if (page === 'viewer' && kind === 'dataset') return defaultRevision
  return page === 'tree' && rest.length > 0 ? rest.join('/') : null
}

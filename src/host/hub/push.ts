/**
 * Sends files to a repository of a hub. Large ones go to the hub's storage first; then all of them come into the repository together, in one
 * commit, so it is empty until it is complete. Xet is not used: its pieces go to one more server, which a mirror need not have.
 */
import type { FileHandle } from 'node:fs/promises'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { commit, createRepo, HubApiError, modelInfo } from '@huggingface/hub'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { AppError, refusal, usageError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { defaultHub } from '#shared/hub.ts'
import { commandWord } from '#shared/shownText.ts'
import { FileBlob } from '#host/files/fileBlob.ts'
import { webAddress } from '#host/outboundRequests.ts'
import { clientOf, isRepo, tokenVariable, type HubAccess } from './hub.ts'

export interface Sending {
  /** Folder of the files. */
  readonly directory: string
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[]
  /** Opens a file of the list. Errors: AppError 'file/unreadable', also for one that was exchanged. */
  readonly openOwn: (path: string) => Promise<FileHandle>
  /** OWNER/NAME. */
  readonly repo: string
  readonly isPublic: boolean
}

type News = OutputOf<Api, 'hub.push'>

/** Progress of a push. */
interface Course {
  /** State of the hub: it has nothing, an empty repository, or perhaps all of it. */
  stage: 'nothing' | 'empty' | 'committing'
  phase: string
  readBytes: number
}

const lookEveryMs = 250

/**
 * Sends files to a repository, which is made if there is none, and must be empty. Errors: AppError 'usage/invalid' for another name than
 * OWNER/NAME; 'api/refused' where the hub takes it not; 'api/disconnected'; 'api/cancelled'; 'file/unreadable'. Each says what the hub has.
 */
export async function* pushFiles(sending: Sending, access: HubAccess): AsyncGenerator<News> {
  requireRepo(sending.repo)
  const total = sending.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const course: Course = { stage: 'nothing', phase: 'Asking the hub', readBytes: 0 }
  const progress = () => ({ phase: course.phase, done: course.readBytes, total, unit: 'bytes' as const })
  await using handles = new AsyncDisposableStack()
  const pushed = push(sending, access, course, handles).catch((error: unknown) => {
    throw failureOf(error, sending, access, course)
  })
  const isEnded = pushed.then(() => true)
  while (!(await Promise.race([isEnded, delay(lookEveryMs, false)]))) yield { progress: progress() }
  yield { result: await pushed }
}

/** Errors: AppError 'usage/invalid'. */
export function requireRepo(repo: string): void {
  if (isRepo(repo)) return
  throw usageError(
    `“${shorten(repo)}” is no name of a repository.`,
    'Give OWNER/NAME, such as me/my-adapter.',
  )
}

async function push(
  sending: Sending,
  access: HubAccess,
  course: Course,
  handles: AsyncDisposableStack,
): Promise<Extract<News, { readonly result: unknown }>['result']> {
  const { repo: name, isPublic, openOwn } = sending
  const operations: { operation: 'addOrUpdate'; path: string; content: Blob }[] = []
  for (const { path: file } of sending.files) {
    const handle = handles.use(await openOwn(file))
    const range = { start: 0, end: (await handle.stat()).size }
    const content = new FileBlob(handle, range, (bytes) => void (course.readBytes += bytes))
    operations.push({ operation: 'addOrUpdate', path: file, content })
  }
  const client = watchedClient(access, course)
  const repo = { type: 'model', name } as const
  const parentCommit = await emptyRepository(sending, client)
  course.stage = 'empty'
  course.phase = 'Computing digests'
  const made = await commit({
    repo,
    operations,
    title: 'Add an export of Turnwise',
    parentCommit,
    useXet: false,
    ...client,
  })
  return { repo: name, url: pageOf(sending, access), commit: made?.commit.oid ?? '', isPublic }
}

const pageOf = ({ repo }: Sending, { endpoint }: HubAccess): string => `${endpoint}/${repo}`

type Client = ReturnType<typeof clientOf>

/**
 * Follows no redirect, which could lead the files elsewhere, and for which a file would be kept in memory while it is
 * sent. Notes which part of the work the requests belong to. The library loses an error that comes in the same turn of
 * the event loop as its own progress, so each answer comes in a turn of its own.
 */
function watchedClient(access: HubAccess, course: Course): Client {
  const { hubUrl, fetch: ask } = clientOf(access)
  const watched: typeof ask = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    requireSafe(url, access)
    if (init?.method === 'PUT' && course.phase !== 'Sending') {
      course.phase = 'Sending'
      course.readBytes = 0
    }
    if (url.pathname.includes('/commit/')) course.stage = 'committing'
    return ask(input, { ...init, redirect: 'error' })
  }
  return { hubUrl, fetch: (input, init) => watched(input, init).finally(() => nextTurn()) }
}

/** Refuses a place for large files that is not encrypted, or on this machine though the hub is not. Errors: AppError 'api/refused'. */
function requireSafe({ href, origin }: URL, { endpoint }: HubAccess): void {
  if (webAddress(href) !== null && (isOnThisMachine(endpoint) || !isOnThisMachine(href))) return
  throw refusal(`The hub wants files to be sent to ${origin}, which is not safe.`)
}

/** Returns the commit of an empty repository that is as public as asked. Errors: AppError 'api/refused'; HubApiError. */
async function emptyRepository({ repo: name, isPublic }: Sending, client: Client): Promise<string> {
  const visibility = isPublic ? 'public' : 'private'
  try {
    // The client has the token.
    await createRepo({ repo: { type: 'model', name }, visibility, accessToken: '', ...client })
  } catch (error) {
    // It may be left from a push that did not come to its end.
    if (!(error instanceof HubApiError && error.statusCode === 409)) throw error
  }
  const fields = ['sha', 'filePaths'] as const
  const found = await modelInfo({ name, revision: 'main', additionalFields: [...fields], ...client })
  const isEmpty = found.filePaths.every((file) => file === '.gitattributes')
  if (isEmpty && found.private === !isPublic) return found.sha
  throw refusal(
    isEmpty
      ? `${name} is ${found.private ? 'private' : 'public'} on the hub, not ${visibility} as asked.`
      : `${name} exists already and is not empty.`,
    'Give another name, or change the repository on its page.',
  )
}

/* Failures: what happened, what the hub has, what to do. */

function failureOf(error: unknown, sending: Sending, access: HubAccess, course: Course): AppError {
  const [code, problem, advice] = reasonOf(error, sending, access)
  const { directory, repo, isPublic } = sending
  const has: Readonly<Record<Course['stage'], string>> = {
    nothing: 'Nothing was sent.',
    empty: 'The repository is empty: files come into it all together, at the end.',
    // What was refused is not there; of what got no answer nobody knows.
    committing:
      code === 'api/refused'
        ? 'The files were sent, but the repository is empty.'
        : `All files were sent; whether they are in the repository shows ${pageOf(sending, access)}.`,
  }
  const whole = code === 'file/unreadable' ? [] : [`The export in ${directory} is whole.`]
  const options = [
    ...(isPublic ? ['--public'] : []),
    ...(access.endpoint === defaultHub ? [] : [`--endpoint ${access.endpoint}`]),
  ]
  const command = ['turnwise export', commandWord(directory), '--push', repo, ...options].join(' ')
  return new AppError(
    code,
    problem,
    { text: [has[course.stage], ...whole, advice].join(' '), command },
    error,
  )
}

type Reason = readonly [code: AppError['code'], problem: string, advice: string]

function reasonOf(error: unknown, { repo }: Sending, access: HubAccess): Reason {
  if (access.signal.aborted) return ['api/cancelled', 'The push was stopped.', 'Push again to go on.']
  if (error instanceof HubApiError) return reasonOfStatus(error, repo, access)
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error
  if (cause instanceof AppError)
    return [cause.code, cause.message, cause.hint ?? 'Export again into another folder, and push that.']
  const check = 'Check the connection, the name and the address of the hub, then push again.'
  if (cause instanceof Error && cause.message === 'unexpected redirect')
    return ['api/refused', 'The hub sent a request on to another place, which was not followed.', check]
  if (error instanceof TypeError)
    return ['api/disconnected', 'The hub cannot be reached, or the connection was lost.', check]
  return [
    'api/disconnected',
    `The hub gave an answer that is none of a hub: ${shorten(String(error))}`,
    check,
  ]
}

function reasonOfStatus(
  { statusCode: status, data }: HubApiError,
  repo: string,
  { endpoint }: HubAccess,
): Reason {
  const told = data?.['error']
  const words = typeof told === 'string' && told !== '' ? ` It says: “${shorten(told)}”` : ''
  const token = `Make an access token that may write at ${endpoint}/settings/tokens, set ${tokenVariable} to it and push again.`
  const known: Readonly<Record<number, readonly [problem: string, advice: string]>> = {
    401: [`The hub does not know the access token in ${tokenVariable}.`, token],
    403: [`The access token in ${tokenVariable} may not write to ${repo}.`, token],
    404: [
      `The hub has no place for ${repo}, or does not show it to you.`,
      'Check the name and the address of the hub.',
    ],
    409: [`${repo} was changed meanwhile.`, 'Look at its page, then give another name.'],
    413: ['The hub takes no files that large.', 'Export in smaller parts (--shard-gb) or another format.'],
    429: ['The hub has had too many requests from you.', 'Wait some minutes, then push again.'],
  }
  const other = status < 500 ? 'Change what it names, then push again.' : 'Push again later.'
  const [problem, advice] = known[status] ?? [`The hub answered with status ${status}.`, other]
  const isRefused = status < 500 && status !== 429
  return [isRefused ? 'api/refused' : 'api/disconnected', `${problem}${words}`, advice]
}

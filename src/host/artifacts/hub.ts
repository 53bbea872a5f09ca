/**
 * Fetches a model from a hub into a folder, file by file. What was fetched before is kept: a file that is whole is not
 * asked for again, one that is not goes on where it ended. Nothing that came is run; every file is compared with the
 * digest that the hub states.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { downloadFile, HubApiError, listFiles, modelInfo, type ListFileEntry } from '@huggingface/hub'
import { AppError } from '#shared/errors.ts'
import { makeFolder } from './atomic.ts'
import { writeError } from './fileErrors.ts'

export interface HubModel {
  /** Such as HuggingFaceTB/SmolLM2-135M. */
  readonly repo: string
  /** A branch, tag or commit. */
  readonly revision: string
}

export interface HubAccess {
  /** Such as https://huggingface.co. */
  readonly endpoint: string
  readonly token: string | null
  /** Called before every request. */
  readonly onRequest: () => void
  readonly signal: AbortSignal
}

export interface HubProgress {
  readonly doneBytes: number
  readonly totalBytes: number
}

const repoPattern = /^[\w.-]{1,96}\/[\w.-]{1,96}$/

/** `owner/name`, or an address of its page or of one of its revisions. Errors: AppError 'usage/invalid'. */
export function readHubAddress(text: string, endpoint: string): HubModel {
  const given = text.trim().replace(/\/+$/, '')
  const place = given.startsWith(`${endpoint}/`) ? given.slice(endpoint.length + 1) : given
  const [owner = '', name = '', tree, ...revision] = place.split('/')
  const repo = `${owner}/${name}`
  const hasTree = tree === undefined || (tree === 'tree' && revision.length > 0)
  if (repoPattern.test(repo) && !repo.includes('..') && hasTree) {
    return { repo, revision: revision.join('/') || 'main' }
  }
  throw new AppError(
    'usage/invalid',
    `«${text}» is no address of a model.`,
    `Give owner/name, or the address of its page below ${endpoint}.`,
  )
}

/** What a model needs, and what it says of itself; never code, pickles or other formats. */
const isWanted = ({ type, path: file }: ListFileEntry): boolean =>
  type === 'file' &&
  !file.includes('/') &&
  (/\.safetensors$/.test(file) ||
    /^(?:[\w.-]+\.json|chat_template\.jinja|README\.md|LICENSE(?:\.\w+)?)$/.test(file))

/** Left free on the disk for everything else. */
const reservedBytes = 1024 ** 3

/**
 * Yields how far it is. Errors: AppError 'model/invalid' where the hub has no such model, does not let it be read, or
 * sends other bytes than it states; 'file/unwritable', also where the disk is too small: nothing was fetched then;
 * 'api/disconnected' where the hub is not reached: what came is kept.
 */
export async function* fetchModel(
  { repo, revision }: HubModel,
  folder: string,
  access: HubAccess,
): AsyncGenerator<HubProgress> {
  const client = clientOf(access)
  const { commit, files } = await asked(repo, () => wantedFiles(repo, revision, client))
  if (!files.some(({ path: file }) => file === 'config.json')) {
    throw new AppError('model/invalid', `${repo} is no model that Turnwise can read: it has no config.json.`)
  }
  makeFolder(folder)
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0)
  await requireSpace(folder, totalBytes - (await sizeOf(folder, files)))
  let before = 0
  for (const file of files) {
    for await (const bytes of fetchFile({ repo, revision: commit, file, folder }, client)) {
      yield { doneBytes: before + bytes, totalBytes }
    }
    before += file.size
    yield { doneBytes: before, totalBytes }
  }
}

type Client = ReturnType<typeof clientOf>

const clientOf = ({ endpoint, token, onRequest, signal }: HubAccess) => ({
  hubUrl: endpoint,
  ...(token === null ? {} : { accessToken: token }),
  fetch: ((input, init) => {
    onRequest()
    return fetch(input, { ...init, signal })
  }) satisfies typeof fetch,
})

/** Of one commit: a model that changes meanwhile does not come in halves. */
async function wantedFiles(repo: string, revision: string, client: Client) {
  const { sha: commit } = await modelInfo({ name: repo, revision, additionalFields: ['sha'], ...client })
  const files: ListFileEntry[] = []
  const model = { type: 'model', name: repo } as const
  for await (const file of listFiles({ repo: model, revision: commit, ...client })) {
    if (isWanted(file)) files.push(file)
  }
  return { commit, files }
}

async function sizeOf(folder: string, files: readonly ListFileEntry[]): Promise<number> {
  const sizes = await Promise.all(
    files.flatMap(({ path: file }) => [file, `${file}.part`].map((name) => sizeAt(path.join(folder, name)))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const sizeAt = async (file: string): Promise<number> => (await stat(file).catch(() => null))?.size ?? 0

async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize - reservedBytes
  if (bytes <= free) return
  throw new AppError(
    'file/unwritable',
    `The model needs ${(bytes / 1e9).toFixed(1)} GB more, and the disk has ${(Math.max(0, free) / 1e9).toFixed(1)} GB to give.`,
    'Free some space, or choose a smaller model; nothing was fetched.',
  )
}

interface WantedFile extends HubModel {
  readonly file: ListFileEntry
  readonly folder: string
}

/** Yields the bytes of it that are there. */
async function* fetchFile(
  { repo, revision, file, folder }: WantedFile,
  client: Client,
): AsyncGenerator<number> {
  const target = path.join(folder, file.path)
  const part = `${target}.part`
  if ((await sizeAt(target)) === file.size && (await isAsStated(target, file))) return
  let size = await sizeAt(part)
  if (size > file.size) {
    await rm(part)
    size = 0
  }
  const blob = await asked(repo, () =>
    downloadFile({ repo: { type: 'model', name: repo }, path: file.path, revision, xet: false, ...client }),
  )
  if (blob === null) throw new AppError('model/invalid', `${repo} has no ${file.path} any more.`)
  if (size < file.size) {
    await using handle = await open(part, 'a').catch((error: unknown) => {
      throw writeError(part, error)
    })
    for await (const chunk of contentOf(repo, blob.slice(size))) {
      await handle.writeFile(chunk)
      size += chunk.byteLength
      yield size
    }
    await handle.sync()
  } else if (size === 0) await (await open(part, 'a')).close()
  if (!(await isAsStated(part, file))) {
    await rm(part)
    throw new AppError(
      'model/invalid',
      `${file.path} of ${repo} came with other bytes than the hub states.`,
      'It was removed; fetch the model again.',
    )
  }
  await rename(part, target)
}

/** Large files by SHA-256, the others as git names them: SHA-1 over a header and the content. */
async function isAsStated(file: string, { oid, lfs, size }: ListFileEntry): Promise<boolean> {
  if ((await sizeAt(file)) !== size) return false
  const hash = createHash(lfs === undefined ? 'sha1' : 'sha256')
  if (lfs === undefined) hash.update(`blob ${size}\0`)
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex') === (lfs?.oid ?? oid)
}

/** A connection may be lost in the middle too. */
async function* contentOf(repo: string, blob: Blob): AsyncGenerator<Uint8Array> {
  const reader = (blob.stream() as ReadableStream<Uint8Array>).getReader()
  for (;;) {
    const { done, value } = await asked(repo, () => reader.read())
    if (done) return
    yield value
  }
}

async function asked<T>(repo: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof HubApiError) throw refused(repo, error.statusCode)
    if (!(error instanceof TypeError)) throw error
    throw new AppError(
      'api/disconnected',
      'The hub is not reached.',
      'What was fetched is kept. Look after the connection, then fetch the model again.',
    )
  }
}

const refused = (repo: string, status: number): AppError =>
  status === 401 || status === 403 || status === 404
    ? new AppError(
        'model/invalid',
        `The hub has no model «${repo}», or does not let it be read.`,
        'Check the name; a model with terms needs an access token, set under Settings, Privacy.',
      )
    : new AppError('api/disconnected', `The hub answered with status ${status}.`, 'Try again later.')

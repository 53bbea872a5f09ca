/**
 * A model on a hub: its card, licence and files, what Turnwise makes of it before anything is downloaded, and the download
 * itself, which needs the licence to be accepted.
 */
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError, refusal, usageError } from '#shared/errors.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { jsonObjectOf } from '#host/files/strictJson.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { isLicenseFile, writeHubNote } from '#host/models/modelLibrary.ts'
import { additionalTemplates } from '#host/models/tokenizerFolder.ts'
import { licenseOfCard, type License } from './card.ts'
import { fetchFiles, type HubProgress } from './fetchFiles.ts'
import {
  asked,
  cardOf,
  invalid,
  listCommit,
  openCommit,
  openFile,
  textOf,
  type HubAccess,
  type HubCommit,
  type HubFile,
  type HubPlace,
} from './hub.ts'

export interface HubModel {
  readonly commit: HubCommit
  /** Files in its top folder, and its additional chat templates. */
  readonly files: readonly HubFile[]
  /** Licence, with an address as its link; null if the card states none. */
  readonly license: License | null
  /** The forms its weights can be had in. */
  readonly choices: readonly HubChoice[]
}

/** One download. */
export interface HubChoice {
  /** A GGUF file; null: the safetensors weights with config and tokenizer. */
  readonly file: string | null
  /** Size of the weights. */
  readonly sizeBytes: number
}

/** Errors: those of asking the hub; AppError 'model/invalid' where it has no weights that Turnwise reads. */
export async function openHubModel(place: HubPlace, access: HubAccess): Promise<HubModel> {
  const commit = await openCommit(place, access)
  const files = (await listCommit(commit, true)).filter(
    ({ path: file }) => !file.includes('/') || isTemplate(file),
  )
  const choices = choicesIn(files)
  if (choices.length === 0) {
    throw invalid(
      place,
      `${place.repo} is not a model that Turnwise can read: it has neither config.json with safetensors weights nor a GGUF file.`,
    )
  }
  const license = files.some(({ path: file }) => file === 'README.md')
    ? licenseOfCard(await cardOf(commit))
    : null
  return { commit, files, license: license === null ? null : linked(license, commit), choices }
}

function choicesIn(files: readonly HubFile[]): HubChoice[] {
  const sizeOf = (found: readonly HubFile[]) => found.reduce((sum, { size }) => sum + size, 0)
  const tensors = files.filter(({ path: file }) => file.endsWith('.safetensors'))
  const isFolder = tensors.length > 0 && files.some(({ path: file }) => file === 'config.json')
  // Parts of split files and the eyes of models that see are no models.
  const single = files.filter(({ path: file }) => /^(?!mmproj).*(?<!-\d{5}-of-\d{5})[.]gguf$/i.test(file))
  return [
    ...(isFolder ? [{ file: null, sizeBytes: sizeOf(tensors) }] : []),
    ...single.map(({ path: file, size }) => ({ file, sizeBytes: size })),
  ]
}

/** A link to a file of the repository becomes the address of its page. */
function linked({ name, link }: License, { place, commit, access }: HubCommit): License {
  if (link === null) return { name, link }
  if (/^https?:\/\//.test(link)) return { name, link }
  return { name, link: `${access.endpoint}/${place.repo}/blob/${commit}/${link.replace(/^[./]+/, '')}` }
}

/** The text of its licence, where it has a file for it. */
export async function licenseText({ commit, files }: HubModel): Promise<string | null> {
  const file = files.find(({ path: name }) => isLicenseFile(name))
  return file === undefined ? null : textOf(commit, file.path)
}

/** Errors: AppError 'usage/invalid' where there is no such file. */
export function chooseFrom({ commit: { place }, choices }: HubModel, file: string | null): HubChoice {
  const [first] = choices
  const found = choices.find((choice) => choice.file === file)
  // A repository of GGUF files alone has no usual one.
  if (found !== undefined) return found
  const names = choices.flatMap((choice) => choice.file ?? [])
  throw usageError(
    file === null
      ? `${place.repo} has only GGUF files: choose one of them.`
      : `${place.repo} has no GGUF file “${file.slice(0, 200)}”.`,
    first === undefined
      ? undefined
      : `It has ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}.`,
  )
}

/**
 * Reads the model's config from config.json or the header of a GGUF file, without its weights: this shows whether
 * Turnwise can open it. Errors: those of asking the hub and of opening the model.
 */
export const configOf = ({ commit }: HubModel, { file, sizeBytes }: HubChoice): Promise<ModelConfig> =>
  file === null ? folderConfig(commit) : ggufFileConfig(commit, file, sizeBytes)

async function folderConfig(commit: HubCommit): Promise<ModelConfig> {
  const where = `config.json of ${commit.place.repo}`
  const text = await textOf(commit, 'config.json')
  return readModelConfig(jsonObjectOf(new TextEncoder().encode(text), where, 'model/invalid'), where)
}

/** Bytes read of a GGUF file at first, and at most: a header is as long as its vocabulary. */
const [firstHeaderBytes, maxHeaderBytes] = [1 << 22, 1 << 26]

/**
 * The header is put at the front of a file that is otherwise a hole, as long as the real one: then the reader of local files
 * checks every tensor of it. Where it runs into the hole, more is read.
 */
async function ggufFileConfig(commit: HubCommit, name: string, sizeBytes: number): Promise<ModelConfig> {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-header-'))
  try {
    const blob = await openFile(commit, name)
    const file = path.join(folder, path.basename(name))
    for (let length = firstHeaderBytes, read = 0; ; length *= 4) {
      const end = Math.min(length, sizeBytes)
      writeAt(file, await asked(commit.place, () => blob.slice(read, end).arrayBuffer()), read, sizeBytes)
      read = end
      const isLast = end >= Math.min(sizeBytes, maxHeaderBytes)
      const config = configOrNull(file, isLast, `${name} of ${commit.place.repo}`)
      if (config !== null) return config
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns null if more of the file may help. Errors: as `openModelFolder`, without the place of a file that nobody knows. */
function configOrNull(file: string, isLast: boolean, name: string): ModelConfig | null {
  try {
    return openModelFolder(file).config
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (!isLast && error.code !== 'model/unsupported') return null
    throw new AppError(error.code, error.message.replaceAll(file, name), error.hint)
  }
}

function writeAt(file: string, bytes: ArrayBuffer, position: number, sizeBytes: number): void {
  const handle = openSync(file, position === 0 ? 'w' : 'r+')
  try {
    ftruncateSync(handle, sizeBytes)
    writeSync(handle, new Uint8Array(bytes), 0, bytes.byteLength, position)
  } finally {
    closeSync(handle)
  }
}

/* The download. */

export interface ModelWanted {
  /** A GGUF file; null: the safetensors weights. */
  readonly file: string | null
  /** Name of the licence that a person has read and accepted; null: they know that none is stated. */
  readonly license: string | null
}

/** Tells whether a file is one that a model needs or describes itself with; never code, pickles or other formats. */
const isWanted = ({ path: file }: HubFile): boolean =>
  /\.safetensors$/.test(file) || /^[\w.-]+\.json$/.test(file) || isTemplate(file) || isText(file)

/** The chat template and those beside it, such as that for tools. */
const isTemplate = (file: string): boolean =>
  file === 'chat_template.jinja' ||
  (path.posix.dirname(file) === additionalTemplates && /^[\w.-]+\.jinja$/.test(path.posix.basename(file)))

const isText = (file: string): boolean => file === 'README.md' || isLicenseFile(file)

/**
 * Fetches a model and yields its progress. The licence is kept with the model. Errors: those of `openHubModel`,
 * `chooseFrom` and `fetchFiles`; AppError 'api/refused' if another licence is stated than was accepted: nothing was
 * fetched then.
 */
export async function* fetchModel(
  place: HubPlace,
  wanted: ModelWanted,
  folder: string,
  access: HubAccess,
): AsyncGenerator<HubProgress> {
  const model = await openHubModel(place, access)
  const { file } = chooseFrom(model, wanted.file)
  requireAccepted(model, wanted)
  const isPart = (found: HubFile) =>
    file === null ? isWanted(found) : found.path === file || isText(found.path)
  yield* fetchFiles(model.commit, model.files.filter(isPart), folder)
  if (!isHubId(place.repo)) return
  const license = model.license === null ? {} : { license: { ...model.license, acceptedAt: Date.now() } }
  writeHubNote(folder, { id: place.repo, commit: model.commit.commit, ...license })
}

function requireAccepted({ commit: { place }, license }: HubModel, { license: accepted }: ModelWanted): void {
  if (accepted === (license?.name ?? null)) return
  throw refusal(
    license === null
      ? `The card of ${place.repo} states no licence, so there is none to accept.`
      : `${place.repo} is under the licence “${license.name}”, which has not been accepted.`,
    'Nothing was downloaded. Read the terms on its page, then accept them and download again.',
  )
}

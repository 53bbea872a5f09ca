/** The models a person can name: imported ones in the data directory, the starter model, any folder by its path. */
import { constants, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import type { ModelOrigin } from '#shared/api/models.ts'
import { attempt } from '#shared/attempt.ts'
import { AppError, invalidModel, unsupportedModel, usageError } from '#shared/errors.ts'
import { entryOf, requireOwn } from '#host/files/ownFiles.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { makeFolder, replaceFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { reading, writeError } from '#host/files/fileErrors.ts'
import { expertElements } from '#engine/models/work.ts'
import { elementCount } from '#host/files/safetensors.ts'
import { memoryFit, type MemoryFit } from '#host/devices/memoryFit.ts'
import { cachedHubId, foundModels, type FoundModel } from './foundModels.ts'
import { openModelFolder, type ModelFolder } from './modelFolder.ts'
import { additionalTemplateFiles, requireOwnText } from './tokenizerFolder.ts'
import { requireNumbers } from './weightCache.ts'
import { z } from 'zod'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

// Hub id of a model: noted beside its files when it is fetched or imported, and told to those who get its adapters.

/** Name that begins with a dot, as that of no file that is fetched or sent does. */
const hubNoteName = '.hub.json'

const note = z.strictObject({
  id: z.string().refine(isHubId),
  /** The commit that was downloaded. */
  commit: z.string().max(64).optional(),
  /** License as its card stated it when it was downloaded, and when a person accepted it, in epoch milliseconds. */
  license: z
    .strictObject({ name: z.string().max(200), link: z.string().max(1000).nullable(), acceptedAt: z.int() })
    .optional(),
})
export type HubNote = z.output<typeof note>

/** Reads the note; null where there is none, or it is damaged: it only holds a name. */
export function hubNoteOf(folder: string): HubNote | null {
  const file = path.join(folder, hubNoteName)
  if (!existsSync(file)) return null
  return attempt(() => note.parse(readJsonObject(file, 'model/invalid')), null)
}

/** null where nothing is known. */
export function hubIdOf(folder: string): string | null {
  if (existsSync(path.join(folder, hubNoteName))) return hubNoteOf(folder)?.id ?? null
  return cachedHubId(folder)
}

/** Errors: AppError 'usage/invalid' for what cannot be a hub id; 'file/unwritable'. */
export function writeHubNote(folder: string, content: HubNote): void {
  requireHubId(content.id)
  requireOwn(folder, 'folder')
  writeFileAtomic(path.join(folder, hubNoteName), `${JSON.stringify(content)}\n`)
}

/** Notes the hub id and keeps all other notes. Errors: as `writeHubNote`. */
export const writeHubId = (folder: string, id: string): void =>
  writeHubNote(folder, { ...hubNoteOf(folder), id })

/** Errors: AppError 'usage/invalid'. */
export function requireHubId(id: string): void {
  if (isHubId(id)) return
  throw usageError(
    `“${id.slice(0, 200)}” is not a valid model id on a hub.`,
    'Ids have the form owner/name, such as Qwen/Qwen2.5-0.5B.',
  )
}

const starterName = 'starter'

/** Folder of the model called `nameOrPath`. Errors: AppError 'model/invalid' where there is none. */
export function findModel(nameOrPath: string, dataDirectory: string): string {
  const given = nameOrPath.replace(/^~(?=[/\\])/, homedir())
  if (existsSync(given)) return path.resolve(given)
  const known = namedModels(dataDirectory).find(({ name }) => name === nameOrPath)
  if (known?.problem !== undefined) throw unsupportedModel(known.problem)
  if (known !== undefined) return known.directory
  throw invalidModel(`There is no model “${nameOrPath}”.`, missingHint(nameOrPath))
}

/** Hint for a name with one slash: it is that of a hub where there is no such folder. */
const missingHint = (nameOrPath: string) =>
  isHubId(nameOrPath) && nameOrPath.includes('/')
    ? {
        text: 'No folder has this name; on a hub a model may.',
        command: `\`turnwise model import ${nameOrPath}\` shows its licence and downloads it.`,
      }
    : {
        text: 'Give the path of a model folder or GGUF file, or the name of an imported model.',
        command: '`turnwise model list` shows them.',
      }

export interface ModelSummary {
  readonly name: string
  readonly directory: string
  readonly architecture: string
  readonly parameters: number
  /** Parameters that a token goes through; fewer where there are experts. */
  readonly activeParameters: number
  readonly sizeBytes: number
  readonly contextLength: number
  /** The most exact form of its matrices that this machine's memory holds for training; null: not even in 4 bits. */
  readonly fits: MemoryFit['fits']
}

/** Summarizes a model without reading its weights. */
export function summarizeModel(name: string, model: ModelFolder): ModelSummary {
  const locations = [...model.tensors.values()]
  const parameters = locations.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return {
    name,
    directory: model.directory,
    architecture: model.config.architecture,
    parameters,
    activeParameters: parameters - expertElements(model.config).idle,
    sizeBytes: locations.reduce((sum, { byteLength }) => sum + byteLength, 0),
    contextLength: model.config.contextLength,
    fits: memoryFit(model.config, parameters).fits,
  }
}

/** A model in the list, or the sentence that says why it cannot be used. */
export type ListedModel = (
  ModelSummary | { readonly name: string; readonly directory: string; readonly problem: string }
) & { readonly origin: ModelOrigin | null; readonly notes?: readonly string[] }

/** Lists the starter model, the imported ones, and those that other programs keep on this machine. */
export function listModels(dataDirectory: string): ListedModel[] {
  return namedModels(dataDirectory).map(({ name, directory, origin, problem, notes }) => {
    if (problem !== undefined) return { name, directory, problem, origin }
    try {
      return {
        ...(notes === undefined ? {} : { notes }),
        ...summarizeModel(name, openModelFolder(directory, { comparesHead: false })),
        origin,
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { name, directory, problem: error.message, origin }
    }
  })
}

/** Lists the names in the library without opening the models. */
export const modelNames = (dataDirectory: string): readonly { name: string; directory: string }[] =>
  namedModels(dataDirectory)

/** Folders and files of the list. */
export const modelPlaces = (dataDirectory: string): string[] =>
  namedModels(dataDirectory).map(({ directory }) => directory)

/**
 * Lists the models by name. A model of another program with the same name as one of ours is found by its path alone.
 */
function namedModels(dataDirectory: string): Named[] {
  const byName = new Map<string, Named>()
  for (const model of [...ownModels(dataDirectory), ...foundModels()])
    if (!byName.has(model.name)) byName.set(model.name, model)
  return [...byName.values()]
}

type Named = Omit<FoundModel, 'origin'> & { readonly origin: ModelOrigin | null }

function ownModels(dataDirectory: string): Named[] {
  const starter = path.join(resourcesDirectory, starterName)
  const { models } = dataFolders(dataDirectory)
  const imported = existsSync(models) ? reading(models, () => readdirSync(models)) : []
  return [
    ...(existsSync(starter) ? [{ name: starterName, directory: starter, origin: null }] : []),
    ...imported
      .filter((name) => !name.startsWith('.'))
      .sort()
      .map((name) => ({ name, directory: path.join(models, name), origin: null })),
  ]
}

/** Files besides the weights that belong to a model. */
const companions = [
  'config.json',
  'generation_config.json',
  'model.safetensors.index.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'README.md',
  hubNoteName,
]

/** A model's licence, as repositories call the file. */
export const isLicenseFile = (name: string): boolean => /^LICEN[CS]E(?:[.]\w+)?$/.test(name)

/** Default name of an imported model: its folder, or its file without the ending. */
export const importedName = (source: string): string =>
  path.basename(path.resolve(source)).replace(/\.gguf$/i, '')

/**
 * Checks a Hugging Face folder or a GGUF file and copies it into the data directory. `hubId`: what it is called on a hub; null: as the
 * folder says. Errors: AppError of `openModelFolder` and `requireNumbers`; 'usage/invalid' for a name or id that cannot be
 * one, or a name that is taken; 'file/unwritable'.
 */
export async function importModel(
  source: string,
  name: string,
  dataDirectory: string,
  hubId: string | null = null,
): Promise<ModelSummary> {
  const model = openModelFolder(source)
  if (!/^[\w][\w.-]{0,99}$/.test(name)) {
    throw usageError(`“${name}” is not a valid name for a model.`, 'Use letters, digits, dots and dashes.')
  }
  if (ownModels(dataDirectory).some((known) => known.name === name)) {
    throw usageError(`A model called “${name}” already exists.`, 'Choose another one with --name.')
  }
  const target = entryOf(dataFolders(dataDirectory).models, name)
  if (hubId !== null) requireHubId(hubId)
  await requireNumbers(model)
  await replaceFolder(target, async (folder) => {
    await copyModelFiles(model.directory, folder)
    if (hubId !== null) writeHubId(folder, hubId)
  })
  return summarizeModel(name, openModelFolder(target))
}

/**
 * Copies what belongs to a model, a folder or a GGUF file, into a folder, which is made. Only what opens as its weights may be a
 * link. Errors: those of `openModelFolder`; AppError 'file/unwritable'.
 */
export async function copyModelFiles(directory: string, folder: string): Promise<void> {
  const { weightNames } = openModelFolder(directory, { comparesHead: false })
  makeFolder(folder)
  const gguf = ggufFileOf(directory)
  if (gguf !== null) await copyWhole(realpathSync(gguf), path.join(folder, ggufName(gguf)))
  if (gguf === directory) return
  for (const name of weightNames) await copyWeights(name, directory, folder)
  const licenses = namesIn(directory).filter(isLicenseFile)
  for (const file of [...companions, ...licenses, ...additionalTemplateFiles(directory)])
    await copyIfThere(file, directory, folder)
}

/** Ollama's have no ending, which a file in a folder is known by. */
function ggufName(file: string): string {
  const { name } = path.parse(file)
  return `${name}.gguf`
}

const namesIn = (directory: string): string[] => reading(directory, () => readdirSync(directory))

/** Copies a file of a model's folder, by its path in there. Errors: AppError 'file/unwritable', 'file/unreadable'. */
export async function copyIfThere(file: string, directory: string, folder: string): Promise<void> {
  const from = path.join(directory, file)
  if (!existsSync(from) || !statSync(from).isFile()) return
  requireOwnText(from, directory)
  await copyWeights(file, directory, folder)
}

/** Copies a file that was read as weights, wherever a link in its place leads. Errors: AppError 'file/unwritable'. */
export async function copyWeights(file: string, directory: string, folder: string): Promise<void> {
  const to = path.join(folder, file)
  makeFolder(path.dirname(to))
  await copyWhole(path.join(directory, file), to)
}

async function copyWhole(from: string, to: string): Promise<void> {
  try {
    // If the file system can share the bytes, nothing is copied.
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    await using file = await open(to, 'r+')
    // Copying copies the permissions too, and the copy is no file of the person's.
    await file.chmod(0o600)
    await file.sync()
  } catch (error) {
    throw writeError(to, error)
  }
}

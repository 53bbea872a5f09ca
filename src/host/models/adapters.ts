/** Adapters that have a name: imported, uploaded by a browser, or promoted from a study (promoted.ts). */
import path from 'node:path'
import { existsSync, readdirSync, statSync } from 'node:fs'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { modelsApi } from '#shared/api/models.ts'
import { AppError, refusal, usageError } from '#shared/errors.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { ObservedStorage, DataStorage } from '#host/store/storage.ts'
import { discardUpload, findUploadedFolder } from '#host/transports/uploads.ts'
import { removeFolder, replaceFolder } from '#host/files/atomic.ts'
import { copyIfThere, copyWeights } from './modelLibrary.ts'
import { adapterFiles, adapterFolder, configName, readAdapterConfig } from '#host/adapters/adapterFiles.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { originOf } from './promoted.ts'

type Source = { readonly path: string } | { readonly uploadId: string }

/** Errors: AppError 'file/unreadable' where an upload is gone. */
export const folderOf = async ({ dataDirectory }: DataStorage, source: Source): Promise<string> =>
  'path' in source ? source.path : findUploadedFolder(dataFolders(dataDirectory).uploads, source.uploadId)

/** An upload that was taken over. */
export async function discardSource({ dataDirectory }: DataStorage, source: Source): Promise<void> {
  if ('uploadId' in source) await discardUpload(dataFolders(dataDirectory).uploads, source.uploadId)
}

export const adapters = (host: ObservedStorage) =>
  ({
    adapters: () => listAdapters(host.dataDirectory),

    async importAdapter(source) {
      const folder = await folderOf(host, source)
      const name = source.name ?? path.basename(path.resolve(folder))
      const adapter = await importAdapter(folder, name, host.dataDirectory)
      await discardSource(host, source)
      host.notifier.notify()
      return adapter
    },

    deleteAdapter({ name }) {
      requireUnneeded(host, name)
      removeAdapter(name, host.dataDirectory)
      host.notifier.notify()
    },
  }) satisfies Partial<Handlers<typeof modelsApi>>

function requireUnneeded({ store, dataDirectory }: DataStorage, name: string): void {
  const directory = JSON.stringify(entryOf(dataFolders(dataDirectory).adapters, name))
  const open = store.runs.list().filter(({ status }) => status !== 'finished')
  const needing = open.find(({ id }) => store.runs.get(id).config.includes(directory))
  if (needing === undefined) return
  throw refusal(`The unfinished run ${needing.id} starts from this adapter.`, 'Delete that run first.')
}

/* Adapters in the data directory, by name. */

export type AdapterSummary = OutputOf<Api, 'models.importAdapter'>

/** One that cannot be used says why. */
type ListedAdapter = OutputOf<Api, 'models.adapters'>[number]

/** Tensors are not read: a listed one can still turn out to be damaged. */
export function listAdapters(dataDirectory: string): ListedAdapter[] {
  const { adapters } = dataFolders(dataDirectory)
  const names = existsSync(adapters) ? readdirSync(adapters).filter((name) => !name.startsWith('.')) : []
  return names.sort().map((name) => {
    const directory = path.join(adapters, name)
    try {
      return summarizeAdapter(name, directory)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { name, directory, problem: error.message }
    }
  })
}

export function summarizeAdapter(name: string, directory: string): AdapterSummary {
  const files = adapterFiles(directory)
  const { rank, alpha, baseModel } = readAdapterConfig(files)
  const sizeBytes = statSync(files.tensorsPath).size
  return { name, directory, baseModel, rank, alpha, sizeBytes, origin: originOf(directory) }
}

/** Folder for an adapter of this name. Errors: AppError 'usage/invalid' where the name is taken or cannot be one. */
export function newAdapterFolder(name: string, dataDirectory: string): string {
  if (!/^[\w][\w.-]{0,99}$/.test(name)) {
    throw usageError(`“${name}” is not a valid name for an adapter.`, 'Use letters, digits, dots and dashes.')
  }
  const directory = entryOf(dataFolders(dataDirectory).adapters, name)
  if (!existsSync(directory)) return directory
  throw usageError(`An adapter called “${name}” already exists.`, 'Choose another name.')
}

/**
 * Checks a PEFT folder, or the actor of a checkpoint, and copies it. Errors: AppError 'adapter/invalid'; 'usage/invalid'
 * for a name that is taken or cannot be one; 'file/…'.
 */
export async function importAdapter(
  source: string,
  name: string,
  dataDirectory: string,
): Promise<AdapterSummary> {
  readAdapter(source)
  const directory = newAdapterFolder(name, dataDirectory)
  const from = adapterFolder(source)
  const { tensorsPath } = adapterFiles(source)
  await replaceFolder(directory, async (folder) => {
    await copyWeights(path.basename(tensorsPath), path.dirname(tensorsPath), folder)
    for (const file of [configName, 'README.md']) await copyIfThere(file, from, folder)
  })
  return summarizeAdapter(name, directory)
}

/** Deletes an adapter. Errors: AppError 'adapter/invalid' where there is none, 'file/unwritable'. */
function removeAdapter(name: string, dataDirectory: string): void {
  const found = listAdapters(dataDirectory).find((adapter) => adapter.name === name)
  if (found === undefined) throw new AppError('adapter/invalid', `There is no adapter “${name}”.`)
  removeFolder(found.directory)
}

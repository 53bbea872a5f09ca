/** Adapters that were imported, and folders that a browser sent. */
import path from 'node:path'
import type { Handlers } from '#shared/api/contract.ts'
import type { modelsApi } from '#shared/api/models.ts'
import { AppError } from '#shared/errors.ts'
import { importAdapter, listAdapters, removeAdapter } from './adapterLibrary.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { discardUpload, findUploadedFolder } from '#host/transports/uploads.ts'

type Source = { readonly path: string } | { readonly uploadId: string }

/** Errors: AppError 'file/unreadable' where an upload is gone. */
export const folderOf = async ({ dataDirectory }: Host, source: Source): Promise<string> =>
  'path' in source ? source.path : findUploadedFolder(dataFolders(dataDirectory).uploads, source.uploadId)

/** An upload that was taken over. */
export async function discardSource({ dataDirectory }: Host, source: Source): Promise<void> {
  if ('uploadId' in source) await discardUpload(dataFolders(dataDirectory).uploads, source.uploadId)
}

export const adapters = (host: Host) =>
  ({
    adapters: () => listAdapters(host.dataDirectory),

    async importAdapter(source) {
      const folder = await folderOf(host, source)
      const name = source.name ?? path.basename(path.resolve(folder))
      const adapter = await importAdapter(folder, name, host.dataDirectory)
      await discardSource(host, source)
      host.bell.ring()
      return adapter
    },

    deleteAdapter({ name }) {
      requireUnneeded(host, name)
      removeAdapter(name, host.dataDirectory)
      host.bell.ring()
    },
  }) satisfies Partial<Handlers<typeof modelsApi>>

function requireUnneeded({ store, dataDirectory }: Host, name: string): void {
  const directory = JSON.stringify(path.join(dataFolders(dataDirectory).adapters, name))
  const open = store.runs.list().filter(({ status }) => status !== 'finished')
  const needing = open.find(({ id }) => store.runs.get(id).config.includes(directory))
  if (needing === undefined) return
  throw new AppError(
    'api/refused',
    `The run ${needing.id}, which is not finished, begins with this adapter.`,
    'Delete that run first.',
  )
}

/**
 * Promoted adapters: the checkpoint of a trial under a name of its own, `adapters/NAME`. It is a copy in the form of a checkpoint,
 * so that it is exported, continued (with its critic) and compared as one, and no rule that thins out checkpoints, no deletion
 * of its run or its study reaches it. What only training on needs (moments, reference) stays behind. `origin.json` says which
 * trial it was.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import { adapterOrigin } from '#shared/api/models.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { makeFolder, replaceFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { asItLies, dataDirectoryAround } from '#host/files/movedPaths.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { copyIfThere } from './modelLibrary.ts'
import { isCheckpoint, readState, requireWhole, writeState } from '#host/workFolder/checkpointState.ts'

export type AdapterOrigin = z.output<typeof adapterOrigin>

const originName = 'origin.json'

/** Beginnings of the names of files that are not copied. */
const leftBehind = ['optimizer.safetensors', 'reference/']

/**
 * Copies a checkpoint into a new folder. Errors: AppError 'checkpoint/invalid' where it is not whole; 'file/…'; then there is no
 * such folder.
 */
export async function promoteCheckpoint(
  checkpoint: string,
  directory: string,
  origin: AdapterOrigin,
): Promise<void> {
  const { format: _, files, sizeBytes: _size, ...state } = readState(checkpoint)
  const isCarried = ([name]: readonly [string, unknown]) => !leftBehind.some((each) => name.startsWith(each))
  const carried = Object.fromEntries(Object.entries(files).filter(isCarried))
  requireWhole(checkpoint, { files: carried })
  await replaceFolder(directory, async (folder) => {
    for (const name of Object.keys(carried)) {
      makeFolder(path.dirname(path.join(folder, name)))
      await copyIfThere(name, checkpoint, folder)
    }
    // A run that trains on may have removed it meanwhile.
    requireWhole(folder, { files: carried })
    const about = { ...origin, home: dataDirectoryAround(directory) }
    writeFileAtomic(path.join(folder, originName), `${JSON.stringify(about, null, 2)}\n`)
    writeState(folder, { ...state, optimizerStep: null })
  })
}

/** null: it was imported, is a checkpoint of a run, or the note is not ours. Errors: AppError 'adapter/invalid' where it is no JSON. */
export function originOf(directory: string): AdapterOrigin | null {
  const file = path.join(directory, originName)
  if (!existsSync(file)) return null
  return adapterOrigin.safeParse(asItLies(readJsonObject(file, 'adapter/invalid'), directory)).data ?? null
}

/**
 * Returns the folder of a promoted checkpoint. Errors: AppError 'adapter/invalid' where there is none of that name, or
 * it was imported and is not a checkpoint.
 */
export function promotedFolder(name: string, dataDirectory: string): string {
  const directory = path.join(dataFolders(dataDirectory).adapters, name)
  if (path.basename(name) === name && isCheckpoint(directory)) return directory
  throw new AppError('adapter/invalid', `There is no promoted adapter “${name}”.`)
}

/** Stores the hub ids that a person gave to models elsewhere: kept in the data directory, not beside their files. */
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { attempt } from '#shared/attempt.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { hubIdOf, requireHubId, writeHubId } from './modelLibrary.ts'

const namesFile = (dataDirectory: string): string => path.join(dataDirectory, 'hub-ids.json')

const names = z.record(z.string(), z.string().refine(isHubId))

/** Returns the hub id; null where nobody has given one, or there is no such model. */
export function knownHubId(model: string | null, dataDirectory: string): string | null {
  if (model === null || !existsSync(model)) return null
  return hubIdOf(model) ?? readNames(dataDirectory)[realpathSync(model)] ?? null
}

/** Returns what a base is called in an export: as `given` for it, or as known. Errors: AppError 'usage/invalid' for what cannot be a hub id. */
export function hubIdFor(model: string | null, given: string | null, dataDirectory: string): string | null {
  if (given === null) return knownHubId(model, dataDirectory)
  requireHubId(given)
  return given
}

/** Remembers nothing where none was given, or there is no such model. Errors: AppError 'usage/invalid' for what cannot be a hub id; 'file/unwritable'. */
export function rememberHubId(model: string | null, id: string | null, dataDirectory: string): void {
  if (model === null || id === null || !existsSync(model)) return
  const { models } = dataFolders(dataDirectory)
  if (path.dirname(path.resolve(model)) === models) {
    writeHubId(model, id)
    return
  }
  requireHubId(id)
  makeFolder(dataDirectory)
  const known = { ...readNames(dataDirectory), [realpathSync(model)]: id }
  writeFileAtomic(namesFile(dataDirectory), `${JSON.stringify(known, null, 2)}\n`)
}

/** A damaged list counts as none: it holds no more than names. */
function readNames(dataDirectory: string): Readonly<Record<string, string>> {
  const file = namesFile(dataDirectory)
  if (!existsSync(file)) return {}
  return attempt(() => names.parse(readJsonObject(file, 'model/invalid')), {})
}

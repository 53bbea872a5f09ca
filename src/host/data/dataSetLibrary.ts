/** Finds the data sets in the data directory by name or by the beginning of their id. */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { AppError, invalidData } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { reading } from '#host/files/fileErrors.ts'
import { openDataSetVersion, type DataSetInfo, type DataSetVersion } from './dataSetVersion.ts'

export type ListedDataSet =
  | { readonly directory: string; readonly info: DataSetInfo }
  | { readonly directory: string; readonly id: string; readonly problem: string }

/**
 * Lists data sets, newest first; a folder that cannot be read is listed with the reason. Errors: AppError
 * 'file/unreadable'.
 */
export function listDataSets(dataDirectory: string): ListedDataSet[] {
  const { datasets } = dataFolders(dataDirectory)
  if (!existsSync(datasets)) return []
  const createdAt = (listed: ListedDataSet) => ('info' in listed ? listed.info.createdAt : 0)
  return reading(datasets, () => readdirSync(datasets))
    .filter((name) => !name.startsWith('.'))
    .map((name) => describe(path.join(datasets, name)))
    .sort((a, b) => createdAt(b) - createdAt(a))
}

function describe(directory: string): ListedDataSet {
  try {
    const { info } = openDataSetVersion(directory)
    return { directory, info }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { directory, id: path.basename(directory), problem: error.message }
  }
}

/** Time at which a version got this name, in milliseconds; null if it does not have it. */
function namedAt(listed: ListedDataSet, name: string): number | null {
  if (!('info' in listed)) return null
  const { name: first, createdAt, otherNames = {} } = listed.info
  const [, at = null] =
    [[first, createdAt] as const, ...Object.entries(otherNames)].find(([each]) => each === name) ?? []
  return at
}

/** Returns the folder of the newest version of that name; null where there is none. */
export function namedDataSet(name: string, dataDirectory: string): string | null {
  const named = listDataSets(dataDirectory).flatMap((listed) => {
    const at = namedAt(listed, name)
    return at === null ? [] : [{ at, directory: listed.directory }]
  })
  return named.toSorted((a, b) => b.at - a.at)[0]?.directory ?? null
}

const shortestId = 4

/** Finds a data set by name (the newest that has it) or by the beginning of its id. Errors: AppError 'data/invalid'. */
export function findDataSet(wanted: string, dataDirectory: string): DataSetVersion {
  const byId = listDataSets(dataDirectory).filter(({ directory }) =>
    path.basename(directory).startsWith(wanted),
  )
  const found =
    namedDataSet(wanted, dataDirectory) ??
    (wanted.length >= shortestId && byId.length === 1 ? byId[0]?.directory : undefined)
  if (found !== undefined) return openDataSetVersion(found)
  throw invalidData(
    byId.length > 1
      ? `Several data sets have an id that begins with “${wanted}”.`
      : `There is no data set “${wanted}”.`,
    { command: '`turnwise dataset list` shows names and ids.' },
  )
}

/** Data sets as entries of a list to choose from. */
import type { Answer } from '#renderer/client/api.tsx'
import { formatAgo, formatBytes, plural } from '#renderer/client/format.ts'

export type DataSet = Answer<'datasets.list'>[number]
export type DataVersion = DataSet['versions'][number]

/** Which one of its data set a version is: the first import is 1. `versions`: the newest first. */
export const versionNumber = (versions: readonly Pick<DataVersion, 'id'>[], versionId: string): number =>
  versions.length - versions.findIndex(({ id }) => id === versionId)

/** “500 rows · prompt, answer, task · 2 h ago” */
export const versionFacts = (version: DataVersion, now: number): string =>
  [
    plural(version.rows, 'row'),
    version.sizeBytes === 0 ? '' : formatBytes(version.sizeBytes),
    shortList(version.columns.map(({ name }) => name)),
    formatAgo(version.createdAt, now),
  ]
    .filter(Boolean)
    .join(' · ')

/** The first few, and how many more. */
export function shortList(names: readonly string[], most = 4): string {
  if (names.length <= most) return names.join(', ')
  return `${names.slice(0, most).join(', ')} and ${String(names.length - most)} more`
}

/** The data set a version belongs to. */
export function findVersion(
  dataSets: readonly DataSet[] | undefined,
  versionId: string | null,
): { readonly dataSet: DataSet; readonly version: DataVersion } | undefined {
  for (const dataSet of dataSets ?? []) {
    const version = dataSet.versions.find(({ id }) => id === versionId)
    if (version !== undefined) return { dataSet, version }
  }
  return undefined
}

/** Imported data sets: folders hold the rows, the history their names and which version belongs to which. */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError, ConfigError, invalidData, refusal } from '#shared/errors.ts'
import { schemaProblems } from '#shared/config/problems.ts'
import { runConfigSchema } from '#shared/runConfig.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'
import { removeFolder } from '#host/files/atomic.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { DataSetRecord, DataSetVersionRecord } from '#host/store/dataSets.ts'
import type { Store } from '#host/store/store.ts'
import { listDataSets } from './dataSetLibrary.ts'
import { openDataSetVersion, type DataSetInfo, type DataSetVersion } from './dataSetVersion.ts'

export type DataSetItem = OutputOf<Api, 'datasets.get'>
type VersionItem = DataSetItem['versions'][number]

/** Makes known what the command line or another process imported, under the name it was given. */
export function adoptDataSets({ store, dataDirectory }: DataStorage): void {
  for (const listed of listDataSets(dataDirectory)) {
    if (!('info' in listed) || store.dataSets.findVersion(listed.info.id) !== null) continue
    const named = store.dataSets.list().find(({ name }) => name === listed.info.name)
    addVersion(store, named ?? store.dataSets.create(listed.info.name), listed)
  }
}

export function addVersion(
  store: Store,
  { id: dataSetId }: DataSetRecord,
  { info }: { readonly info: DataSetInfo },
): void {
  const { id, rows, columns, source, mapping, problems, createdAt } = info
  const facts = { rows, columns, source: source.path, mapping, problems: problems.count, createdAt }
  store.dataSets.addVersion({ id, dataSetId, ...facts })
}

export function describeDataSet(store: Store, dataSet: DataSetRecord): DataSetItem {
  return { ...dataSet, versions: store.dataSets.versions(dataSet.id).map(describeVersion) }
}

export function describeVersion(record: DataSetVersionRecord): VersionItem {
  const { id, dataSetId, directory, rows, source, problems, createdAt } = record
  const facts = { id, dataSetId, directory, rows, source, problems, createdAt }
  try {
    const { sizeBytes, columns, mapping } = openDataSetVersion(directory).info
    return { ...facts, unusable: null, sizeBytes, columns: columns.map(plainColumn), mapping }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...facts, unusable: error.message, sizeBytes: 0, columns: [], mapping: [] }
  }
}

/** Kinds that do not occur are left out of the count. */
export const plainColumn = ({ kinds, ...column }: DataSetInfo['columns'][number]) => ({
  ...column,
  kinds: Object.fromEntries(Object.entries(kinds).map(([kind, count]) => [kind, count])),
})

/** Errors: AppError 'data/invalid'. */
export function findDataSet({ store }: DataStorage, dataSetId: string): DataSetRecord {
  const found = store.dataSets.find(dataSetId)
  if (found !== null) return found
  throw invalidData('This data set does not exist.', 'It may have been removed.')
}

/** Errors: AppError 'data/invalid'. */
export function findVersion(host: DataStorage, versionId: string): DataSetVersionRecord {
  adoptDataSets(host)
  const found = host.store.dataSets.findVersion(versionId)
  if (found !== null) return found
  throw invalidData('This version of a data set does not exist.', 'It may have been removed.')
}

/** Errors: AppError 'data/invalid', 'file/unreadable'. */
export const openVersion = (host: DataStorage, versionId: string): DataSetVersion =>
  openDataSetVersion(findVersion(host, versionId).directory)

/** Forgets a data set and removes the rows that no other one has. Errors: AppError 'api/refused' while a run reads them. */
export function removeDataSet(host: DataStorage, dataSetId: string): void {
  const { store } = host
  findDataSet(host, dataSetId)
  const versions = store.dataSets.versions(dataSetId)
  for (const version of versions) requireUnread(host, version)
  store.dataSets.remove(dataSetId)
  for (const { id, directory } of versions) {
    if (store.dataSets.findVersion(id) === null) removeFolder(directory)
  }
}

function requireUnread({ store }: DataStorage, { directory }: DataSetVersionRecord): void {
  const open = store.runs.list().filter(({ status }) => status !== 'finished')
  const reading = open.find(({ id }) => store.runs.get(id).config.includes(JSON.stringify(directory)))
  if (reading === undefined) return
  throw refusal(`The unfinished run ${reading.id} uses this data set.`, 'Delete that run first.')
}

/** `data.prompt` of a run config, checked as a config is. Errors: AppError 'config/invalid'. */
export function parsePromptForm(given: unknown): PromptForm {
  const result = runConfigSchema.shape.data.shape.prompt.safeParse(given, { reportInput: true })
  if (result.success) return result.data
  throw new ConfigError(schemaProblems(result.error.issues, 'data.prompt'))
}

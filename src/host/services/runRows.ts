/** The rows that the samples of a run came from. */
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '#shared/errors.ts'
import type { RunManifest } from '#shared/events.ts'
import { parseRunConfig, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { RunRecord } from '#shared/runs.ts'
import { hashFiles } from '../artifacts/contentHash.ts'
import type { DataRow } from '../artifacts/data/dataFile.ts'
import { isDataSetVersion, versionFiles } from '../artifacts/data/dataSetVersion.ts'
import { readRunData } from '../artifacts/data/readDataSet.ts'
import { dataFolders } from '../dataDirectory.ts'
import type { Host } from '../host.ts'
import type { SampleRecord } from '../store/samples.ts'

export type RowOf = (sample: Pick<SampleRecord, 'row' | 'source'>) => DataRow

export const configOf = (run: Pick<RunRecord, 'config'>): RunConfig => parseRunConfig(JSON.parse(run.config))

/** Errors: AppError 'data/invalid' where the data are not those the run was trained on, 'file/unreadable'. */
export async function rowsOfRun({ dataDirectory }: Host, run: RunRecord): Promise<RowOf> {
  const { data } = onlyData(configOf(run))
  if (run.manifest !== null) await requireSameData(run.manifest, dataFolders(dataDirectory).cache)
  const rows = await readRunData(data)
  return ({ row, source }) => {
    const found = rows[source === 'rollout' ? 'train' : 'heldOut'][row]
    if (found !== undefined) return found
    throw new AppError('data/invalid', `The data of the run have no row ${row + 1} any more.`)
  }
}

/** A sample does not know its stage. Errors: AppError 'data/invalid' where stages differ in their rows. */
function onlyData(config: RunConfig): Pick<RunConfig, 'data'> {
  const [first, ...others] = stagesOf(config)
  const rowsOf = ({ data: { train, heldOut } }: RunConfig) => ({ train, heldOut })
  if (others.every((stage) => isDeepStrictEqual(rowsOf(stage), rowsOf(first)))) return first
  throw new AppError(
    'data/invalid',
    'The stages of the run have different data, so its samples cannot be told which row they came from.',
  )
}

async function requireSameData({ data }: RunManifest, cacheDirectory: string): Promise<void> {
  const names = Object.keys(data)
  const files = names.map((name) => (isDataSetVersion(name) ? path.join(name, versionFiles.rows) : name))
  const digests = await hashFiles(files, cacheDirectory, () => undefined)
  const changed = names.find((name, at) => data[name] !== digests[at])
  if (changed === undefined) return
  throw new AppError(
    'data/invalid',
    `The data ${changed} have changed since the run began, so its samples cannot be told which row they came from.`,
    'Import data before training: an imported version never changes.',
  )
}

/** Finds the data rows from which a run's samples came. */
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { settingsAfter } from '#shared/config/changes.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import type { RunManifest, ScheduleEvent } from '#shared/events.ts'
import { parseRunConfig, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { RunRecord, RunEntry } from '#shared/runs.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { isDataSetVersion, versionFiles } from '#host/data/dataSetVersion.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { SampleRecord } from '#host/store/samples.ts'
import { remainingOf, type Remaining, type Timed } from '#shared/remaining.ts'
import { understand } from '#host/store/loggedEvents.ts'
import type { Store } from '#host/store/store.ts'

export type RowOf = (sample: Pick<SampleRecord, 'row' | 'source'>) => DataRow

/** Returns the place of a sample's row in its data set, from 0; null where that can no longer be told. */
export type PlaceOf = (sample: Pick<SampleRecord, 'row' | 'source'>) => number | null

export interface SamplePlaces {
  readonly placeOf: PlaceOf
  /** The numbers under which samples know the row at a place: among the training rows, among those held out. */
  readonly rowsAt: (place: number) => { readonly rollout: number | null; readonly evaluation: number | null }
}

/**
 * Returns a function that finds the places of rows. Samples know their row among those that were trained on, or held
 * out. A split of the same rows is always the same, so the result is kept for the last few runs.
 */
export function rowPlaces(host: DataStorage): (run: RunRecord) => Promise<SamplePlaces> {
  const found = new Map<string, Promise<SamplePlaces>>()
  return (run) => {
    const known = found.get(run.id)
    if (known !== undefined) return known
    const asked = placesOf(host, run)
    found.set(run.id, asked)
    // Data that cannot be read now may be there again later.
    asked.then(
      (places) => places === unknownPlaces && found.delete(run.id),
      () => found.delete(run.id),
    )
    for (const old of [...found.keys()].slice(0, -maxKept)) found.delete(old)
    return asked
  }
}

const maxKept = 8

const asTheyCome: SamplePlaces = {
  placeOf: ({ row }) => row,
  rowsAt: (place) => ({ rollout: place, evaluation: place }),
}

const unknownPlaces: SamplePlaces = {
  placeOf: () => null,
  rowsAt: () => ({ rollout: null, evaluation: null }),
}

async function placesOf(host: DataStorage, run: RunRecord): Promise<SamplePlaces> {
  try {
    const { data } = onlyData(configOf(run))
    if (data.heldOut === null || typeof data.heldOut === 'string') return asTheyCome
    if (run.manifest !== null) await requireSameData(run.manifest, dataFolders(host.dataDirectory).cache)
    const { train, heldOut } = (await readRunData(data)).places
    const indexIn = (side: readonly number[], place: number) => {
      const index = side.indexOf(place)
      return index < 0 ? null : index
    }
    return {
      placeOf: ({ row, source }) => (source === 'rollout' ? train : heldOut)[row] ?? null,
      rowsAt: (place) => ({ rollout: indexIn(train, place), evaluation: indexIn(heldOut, place) }),
    }
  } catch (error) {
    if (error instanceof AppError) return unknownPlaces
    throw error
  }
}

/** The imported version that a sample's row is of; null for a file, and for what an environment makes up. */
export function versionOf(
  { store }: DataStorage,
  run: RunRecord,
  { source }: Pick<SampleRecord, 'source'>,
): string | null {
  const { train, heldOut } = onlyData(configOf(run)).data
  const rows = source === 'evaluation' && typeof heldOut === 'string' ? heldOut : train
  if (typeof rows !== 'string') return null
  const version = store.dataSets.findVersion(path.basename(rows))
  return version?.directory === rows ? version.id : null
}

/** Returns the config with the changes up to the run's current step. */
export const configOf = ({
  config,
  settingChanges,
  step,
}: Pick<RunRecord, 'config' | 'settingChanges' | 'step'>): RunConfig =>
  parseRunConfig(settingsAfter(JSON.parse(config) as JsonObject, settingChanges, step))

/** Errors: AppError 'data/invalid' where the data are not those the run was trained on, 'file/unreadable'. */
export async function rowsOfRun({ dataDirectory }: DataStorage, run: RunRecord): Promise<RowOf> {
  const { data } = onlyData(configOf(run))
  if (run.manifest !== null) await requireSameData(run.manifest, dataFolders(dataDirectory).cache)
  const rows = await readRunData(data)
  return ({ row, source }) => {
    const found = rows[source === 'rollout' ? 'train' : 'heldOut'][row]
    if (found !== undefined) return found
    throw invalidData(`The run's data no longer have a row ${row + 1}.`)
  }
}

/** A sample does not know its stage. Errors: AppError 'data/invalid' where stages differ in their rows. */
function onlyData(config: RunConfig): Pick<RunConfig, 'data'> {
  const [first, ...others] = stagesOf(config)
  const rowsOf = ({ data: { train, heldOut } }: RunConfig) => ({ train, heldOut })
  if (others.every((stage) => isDeepStrictEqual(rowsOf(stage), rowsOf(first)))) return first
  throw invalidData('The stages of the run have different data, so the rows of its samples are unknown.')
}

async function requireSameData({ data }: RunManifest, cacheDirectory: string): Promise<void> {
  const names = Object.keys(data)
  const files = names.map((name) => (isDataSetVersion(name) ? path.join(name, versionFiles.rows) : name))
  const digests = await hashFiles(files, cacheDirectory)
  const changed = names.find((name, at) => data[name] !== digests[at])
  if (changed === undefined) return
  throw invalidData(
    `The data ${changed} have changed since the run began, so the rows of its samples are unknown.`,
    'Import data before training: an imported version never changes.',
  )
}

// Remaining time of the runs in training, from what the history has of them.

export interface RunRemaining extends Remaining {
  readonly runId: string
  /**
   * Time it counts from, epoch ms: the end of the last step, evaluation or checkpoint, or when the run went on after
   * it.
   */
  readonly since: number
}

/** Number of recent items of each kind that predict how long the next ones take. */
const recent = 20

/** null: nothing is known yet, or it does not train now. */
export function runRemaining(
  { events, metrics }: Store,
  { id: runId, status, step }: Pick<RunEntry, 'id' | 'status' | 'step'>,
): RunRemaining | null {
  if (status !== 'running') return null
  const schedule = scheduleOf(events, runId)
  if (schedule === null) return null
  const timed = (metric: string) =>
    metrics.recent(runId, metric, recent).map(({ step: at, value }): Timed => ({ step: at, seconds: value }))
  const completed = Math.max(step, schedule.step)
  const remaining = remainingOf({
    stages: schedule.stages,
    step: completed,
    takenUpAt: schedule.step,
    steps: timed('step_time'),
    evaluations: timed('eval_time'),
    checkpoints: timed('checkpoint_time'),
  })
  if (remaining === null) return null
  const wentOn = events.last(runId, 'status')?.at ?? 0
  return { ...remaining, runId, since: Math.max(metrics.measuredAt(runId) ?? 0, wentOn) }
}

function scheduleOf(events: Store['events'], runId: string): Pick<ScheduleEvent, 'step' | 'stages'> | null {
  const last = events.last(runId, 'schedule')
  const known = last === null ? null : understand(last)
  return known?.type === 'schedule' ? known : null
}

/**
 * Study on disk, below `studies/` of the data directory: `study.json` (description; its file as it was given),
 * `log.jsonl` (which run a trial is, before the run exists, and what trials came to), `state.json` (whether it goes on)
 * and, while a process drives it, `lock`.
 */
import { createHash, randomUUIDv7 } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count, failure, instant, runId, studyId } from '#shared/api/common.ts'
import { studyStatus } from '#shared/api/studies.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { parseStudyConfig, trialResult, type StudyConfig, type TrialResult } from '#shared/studies.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { createFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { asItLies, homeSchema } from '#host/files/movedPaths.ts'
import { appendToOwn, entryOf, requireInside } from '#host/files/ownFiles.ts'
import { jsonObjectOf, readSmallFile, regularFileSize } from '#host/files/strictJson.ts'
import { dropTornLine, readLines } from './lineLog.ts'
import { lockFile, workHolder, workNames } from './workFolder.ts'

const paths = (directory: string) => ({
  study: path.join(directory, 'study.json'),
  log: path.join(directory, 'log.jsonl'),
  state: path.join(directory, 'state.json'),
  lock: lockFile(directory),
})

const stateSchema = z.object({ status: studyStatus, error: failure.nullable() })
export type StudyState = z.output<typeof stateSchema>

const fileSchema = z.object({
  format: z.literal(1),
  id: studyId,
  createdAt: instant,
  /** Length of a trial that trains to its end. */
  steps: count,
  /** Trials at the same time. */
  parallel: z.int().min(1),
  /** Values of the searched settings without a search, by dotted key. */
  start: z.record(z.string(), z.unknown()),
  /** The file of the study, its paths absolute. */
  file: z.record(z.string(), z.unknown()),
  home: homeSchema,
})

export interface StudyFolder extends Omit<z.output<typeof fileSchema>, 'format' | 'file' | 'home'> {
  readonly directory: string
  readonly config: StudyConfig
  readonly file: JsonObject
}

const line = z.discriminatedUnion('type', [
  z.object({ type: z.literal('trial'), trial: count, runId }),
  trialResult.extend({ type: z.literal('result') }),
])

export interface StudyLog {
  /** Ids of runs, by trial. */
  readonly runs: ReadonlyMap<number, string>
  readonly results: readonly TrialResult[]
}

export type NewStudy = Pick<StudyFolder, 'steps' | 'parallel' | 'start' | 'file'>

/** Errors: AppError 'file/unwritable'. */
export function createStudyFolder(dataDirectory: string, study: NewStudy): StudyFolder {
  const id = `st_${randomUUIDv7()}`
  const directory = entryOf(dataFolders(dataDirectory).studies, id)
  const createdAt = Date.now()
  createFolder(directory, (folder) => {
    const files = paths(folder)
    writeFileAtomic(files.log, '')
    writeFileAtomic(files.state, JSON.stringify({ status: 'waiting', error: null }))
    writeFileAtomic(
      files.study,
      `${JSON.stringify({ format: 1, id, createdAt, ...study, home: dataDirectory }, null, 2)}\n`,
    )
  })
  return openStudyFolder(directory)
}

/** Errors: AppError 'file/unreadable' where it is not one that this version understands, 'config/invalid'. */
export function openStudyFolder(directory: string): StudyFolder {
  const document = read(directory, 'study').document
  const { data } = fileSchema.safeParse(asItLies(document, directory))
  if (data === undefined)
    throw new AppError(
      'file/unreadable',
      `${paths(directory).study} does not describe a study that this version can read.`,
      'Other studies and all runs are not affected.',
    )
  const { format: _, home: _home, ...study } = data
  return { ...study, directory, config: parseStudyConfig(data.file) }
}

function read(directory: string, part: 'study' | 'state'): { bytes: Uint8Array; document: JsonObject } {
  const file = paths(directory)[part]
  requireInside(file, directory)
  const bytes = readSmallFile(file, maxBytes)
  return { bytes, document: jsonObjectOf(bytes, file, 'file/unreadable') }
}

const maxBytes = 4 << 20

/** Digest of what a study does, which stays the same while it goes on. Errors: AppError 'file/unreadable'. */
export const studyDigest = (directory: string): string =>
  createHash('sha256').update(read(directory, 'study').bytes).digest('hex')

export const studyDirectory = (dataDirectory: string, id: string): string =>
  entryOf(dataFolders(dataDirectory).studies, id)

/** Returns true if the study exists and is not over. Errors: AppError 'file/unreadable'. */
export function isOpenStudy(dataDirectory: string, id: string): boolean {
  const directory = studyDirectory(dataDirectory, id)
  return existsSync(paths(directory).study) && studyState(directory).status !== 'finished'
}

/** Folders of studies, damaged ones too, the newest first. Errors: AppError 'file/unreadable'. */
export function studyDirectories(dataDirectory: string): string[] {
  const { studies } = dataFolders(dataDirectory)
  return workNames(studies, 'st_')
    .sort()
    .toReversed()
    .map((name) => path.join(studies, name))
}

/**
 * Returns the state as the last process left it; a process that died cannot have recorded its end. Errors: AppError
 * 'file/unreadable'.
 */
export function studyState(directory: string): StudyState {
  const { data: known } = stateSchema.safeParse(read(directory, 'state').document)
  if (known === undefined)
    throw new AppError(
      'file/unreadable',
      `${paths(directory).state} does not say how far the study is in a way that this version can read.`,
      'Its runs and other studies are not affected. A study that cannot be read can be deleted.',
    )
  const isLeft = known.status === 'running' && workHolder(directory) === null
  return isLeft ? { ...known, status: 'interrupted' } : known
}

/** Errors: AppError 'file/unwritable'. */
export const setStudyState = (directory: string, state: StudyState): void =>
  writeFileAtomic(paths(directory).state, JSON.stringify(state))

/**
 * Reads the log of a study; a line without an end is left out. Errors: AppError 'file/unreadable', 'data/invalid' for a
 * line that is not one of ours.
 */
export function readStudyLog(directory: string): StudyLog {
  const { log } = paths(directory)
  const damaged = (number: number) => {
    throw invalidData(`${log} is damaged in line ${number}.`, 'Its runs are not affected.')
  }
  const runs = new Map<number, string>()
  const results = new Map<string, TrialResult>()
  regularFileSize(log)
  for (const parsed of readLines(log, line, damaged)) {
    if (parsed.type === 'trial') runs.set(parsed.trial, parsed.runId)
    else {
      const { type: _, error, ...known } = parsed
      results.set(`${parsed.trial} ${parsed.step}`, { ...known, ...(error === undefined ? {} : { error }) })
    }
  }
  return { runs, results: [...results.values()] }
}

/** Changes with what its files say. */
export function studyStamp(directory: string): string {
  return Object.values(paths(directory))
    .map((file) => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return stats === undefined ? '' : `${stats.mtimeMs} ${stats.size}`
    })
    .join()
}

/** Errors: AppError 'file/unwritable'. */
export const logTrial = (directory: string, trial: number, runId: string): void =>
  append(directory, { type: 'trial', trial, runId })

/** Errors: AppError 'file/unwritable'. */
export const logResult = (directory: string, found: TrialResult): void =>
  append(directory, { type: 'result', ...found })

function append(directory: string, entry: z.output<typeof line>): void {
  appendToOwn(paths(directory).log, `${JSON.stringify(entry)}\n`, { flush: true })
}

/** Errors: AppError 'file/unwritable'. */
export const repairStudyLog = (directory: string): void => dropTornLine(paths(directory).log)

/**
 * Run on disk: `run.json` (description), `config.json` (its settings, paths absolute as they were then), `events.jsonl`
 * (eventLog.ts), `sessions.jsonl`
 * (of agents that act in it), `checkpoints/` (checkpoints.ts), `rewards/` (its copy of reward code), `origin/` (a fork's copy of the
 * checkpoint it began with), `engine/` (the project that another trainer runs), `adapter/` (the exported result),
 * `worker.log` (what its processes wrote to stderr) and, while a process trains it, `lock`.
 */
import { randomUUIDv7 } from 'node:crypto'
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count, instant, runId, studyId } from '#shared/api/common.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { AtomicFile, createFolder, makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { reading } from '#host/files/fileErrors.ts'
import { entryOf, requireInside, requireOwn } from '#host/files/ownFiles.ts'
import { asItLies, dataDirectoryAround, formerHome, homeSchema, moved } from '#host/files/movedPaths.ts'
import { readJsonObject, type JsonObject } from '#host/files/strictJson.ts'
import { lockFile, lockWork, workNames } from './workFolder.ts'

export interface RunFolder {
  readonly id: string
  readonly directory: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Parent; null: a run of its own. */
  readonly parent: RunParent | null
  /** Study; null: the run is not part of one. */
  readonly study: RunStudy | null
  /** The data directory that it was made in; null: it does not say. */
  readonly home: string | null
}

export interface RunStudy {
  readonly studyId: string
  readonly trial: number
}

/** Checkpoint that a fork began with. */
export interface RunParent {
  readonly runId: string
  /** Step of the checkpoint. */
  readonly step: number
}

/** Paths inside a run's folder. */
export const runPaths = (directory: string) => ({
  run: path.join(directory, 'run.json'),
  config: path.join(directory, 'config.json'),
  events: path.join(directory, 'events.jsonl'),
  sessions: path.join(directory, 'sessions.jsonl'),
  checkpoints: path.join(directory, 'checkpoints'),
  origin: path.join(directory, 'origin'),
  rewards: path.join(directory, 'rewards'),
  script: path.join(directory, 'script.json'),
  adapter: path.join(directory, 'adapter'),
  engine: path.join(directory, 'engine'),
  workerLog: path.join(directory, 'worker.log'),
  tensorboard: path.join(directory, 'tensorboard'),
  wandb: path.join(directory, 'wandb'),
  lock: lockFile(directory),
})

export interface RunOrigin {
  readonly parent: RunParent
  /** Folder of the checkpoint; the run gets a copy, so that it needs nothing of its parent later. */
  readonly checkpoint: string
  /** Folder of reward code to copy; null: the run reads it where its config says. */
  readonly rewards: string | null
}

/** Facts that a run begins with besides its config. */
export interface RunBeginnings {
  readonly origin?: RunOrigin | null
  /** The script that takes its steps. */
  readonly script?: ScriptReference | null
  /** Id and place of a run that is part of a study, which wrote both down before. */
  readonly trial?: TrialRun | null
}

export interface TrialRun {
  readonly runId: string
  readonly study: RunStudy
}

export const newRunId = (): string => `run_${randomUUIDv7()}`

/**
 * A training script in its own place: it is not copied, since it may import files beside it. Both are null for a
 * function of the program that started the run.
 */
export interface ScriptReference {
  readonly file: string | null
  readonly sha256: string | null
}

/** null for runs whose steps are taken by this program. Errors: AppError 'config/invalid'. */
export function readScriptReference(runDirectory: string): ScriptReference | null {
  const { script } = runPaths(runDirectory)
  if (!existsSync(script)) return null
  requireInside(script, runDirectory)
  return scriptSchema.parse(readJsonObject(script, 'config/invalid'))
}

const scriptSchema = z.object({ file: z.string().nullable(), sha256: z.string().nullable() })

/**
 * Makes the folder of a new run and writes its config; the folder appears when it is complete. Errors: AppError
 * 'file/unwritable'.
 */
export function createRunFolder(
  dataDirectory: string,
  config: unknown,
  { origin = null, script = null, trial = null }: RunBeginnings = {},
): RunFolder {
  const { runId: id, study } = trial ?? { runId: newRunId(), study: null }
  const directory = entryOf(dataFolders(dataDirectory).runs, id)
  const createdAt = Date.now()
  const parent = origin?.parent ?? null
  createFolder(directory, (folder) => {
    const paths = runPaths(folder)
    makeFolder(paths.checkpoints)
    writeFileAtomic(paths.config, `${JSON.stringify(config, null, 2)}\n`)
    if (script !== null) writeFileAtomic(paths.script, `${JSON.stringify(script)}\n`)
    if (origin !== null) copyFolder(origin.checkpoint, paths.origin)
    if (origin !== null && origin.rewards !== null) copyFolder(origin.rewards, paths.rewards)
    writeFileAtomic(
      paths.run,
      `${JSON.stringify({ format: 1, id, createdAt, parent, study, home: dataDirectory })}\n`,
    )
  })
  return { id, directory, createdAt, parent, study, home: dataDirectory }
}

/** Copies ordinary files, and links to such in the same folder as what they lead to. Errors: AppError 'file/…', also for others. */
export function copyFolder(from: string, to: string, root = from): void {
  if (!attemptRead(from, () => lstatSync(from)).isDirectory())
    throw new AppError('file/unreadable', `${from} is a link or no folder, so it is not copied.`)
  makeFolder(to)
  for (const entry of attemptRead(from, () => readdirSync(from, { withFileTypes: true }))) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    if (entry.isDirectory()) copyFolder(source, target, root)
    else copyFileAtomic(source, target, root)
  }
}

const attemptRead = <T>(from: string, action: () => T): T => reading(from, () => action())

function copyFileAtomic(from: string, to: string, root: string): void {
  requireInside(from, root)
  using file = new AtomicFile(to)
  const handle = attemptRead(from, () => openSync(from, 'r'))
  try {
    const piece = Buffer.alloc(1 << 22)
    for (let count = readSync(handle, piece); count > 0; count = readSync(handle, piece)) {
      file.write(piece.subarray(0, count))
    }
  } finally {
    closeSync(handle)
  }
  file.commit()
}

/** Finds a run by its id (or an unambiguous end or beginning of it), or by the path of its folder. */
export function openRunFolder(dataDirectory: string, idOrPath: string): RunFolder {
  if (isRunFolder(idOrPath)) return readRunFolder(path.resolve(idOrPath))
  const { runs } = dataFolders(dataDirectory)
  const matches = workNames(runs, 'run_').filter(
    (name) => name.startsWith(idOrPath) || name.endsWith(idOrPath),
  )
  const [match, other] = matches
  if (match === undefined) {
    throw new AppError('run/not-found', `There is no run “${idOrPath}”.`, {
      command: '`turnwise runs list` shows all runs.',
    })
  }
  if (other !== undefined) {
    throw new AppError(
      'run/not-found',
      `“${idOrPath}” matches ${matches.length} runs.`,
      'Give more characters of the run id.',
    )
  }
  return readRunFolder(path.join(runs, match))
}

export const isRunFolder = (directory: string): boolean => existsSync(runPaths(directory).run)

function readRunFolder(directory: string): RunFolder {
  const file = runPaths(directory).run
  requireInside(file, directory)
  const { data, error } = runSchema.safeParse(readJsonObject(file, 'file/unreadable'))
  if (data !== undefined) {
    const { format: _, ...run } = data
    return { directory, ...run }
  }
  const place = error.issues[0]?.path.join('.') ?? ''
  throw new AppError(
    'file/unreadable',
    `${file} does not describe a run that this version can read${place === '' ? '' : ` (see ${place})`}.`,
    'Other runs are not affected. Correct the file, or move the folder out of the data directory.',
  )
}

const runSchema = z.object({
  format: z.literal(1),
  id: runId,
  createdAt: instant,
  parent: z.object({ runId: z.string(), step: count }).nullable().default(null),
  study: z.object({ studyId, trial: count }).nullable().default(null),
  home: homeSchema,
})

/** The config that a run began with, its paths as they are now. Errors: AppError 'config/invalid', 'file/unreadable'. */
export function readOwnConfig(directory: string): JsonObject {
  const { config } = runPaths(directory)
  requireInside(config, directory)
  return asItLies(readJsonObject(config, 'config/invalid'), directory, homeOf(directory))
}

/**
 * Returns a path as it was when the run was made: its copies of losses are named after that. Errors: AppError
 * 'file/unreadable'.
 */
export function asWritten(place: string, directory: string): string {
  const here = dataDirectoryAround(directory)
  return here === null ? place : moved(place, here, homeOf(directory) ?? formerHome(here) ?? here)
}

/** The data directory that a run was made in; null: its folder does not say. Errors: AppError 'file/unreadable'. */
export function homeOf(directory: string): string | null {
  const { run } = runPaths(directory)
  return existsSync(run) ? homeSchema.catch(null).parse(readJsonObject(run, 'file/unreadable')['home']) : null
}

/**
 * Locks a run so that no second process trains it; the lock is void when its process has ended. Errors: AppError
 * 'run/busy'; 'file/unwritable' where a link takes the place of one of its folders.
 */
export function lockRun(directory: string): Disposable {
  const { lock, checkpoints, origin, rewards, engine, adapter } = runPaths(directory)
  for (const folder of [checkpoints, origin, rewards, engine, adapter]) requireOwn(folder, 'folder')
  const busy = (holder: number) =>
    new AppError(
      'run/busy',
      `The run in ${directory} is being trained by process ${holder}.`,
      `Stop that one first; if there is no such process, delete ${lock}.`,
    )
  return lockWork(directory, busy)
}

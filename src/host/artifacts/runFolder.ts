/**
 * A run on disk: `run.json` (what it is), `config.json` (its settings, paths absolute), `events.jsonl` (eventLog.ts),
 * `checkpoints/` (checkpoints.ts), `adapter/` (the exported result) and, while a process trains it, `lock`.
 */
import { randomUUIDv7 } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '../dataDirectory.ts'
import { makeFolder, writeFileAtomic } from './atomic.ts'
import { readError, systemCode, writeError } from './fileErrors.ts'
import { readJsonObject } from './strictJson.ts'

export interface RunFolder {
  readonly id: string
  readonly directory: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** Paths inside a run's folder. */
export const runPaths = (directory: string) => ({
  run: path.join(directory, 'run.json'),
  config: path.join(directory, 'config.json'),
  events: path.join(directory, 'events.jsonl'),
  checkpoints: path.join(directory, 'checkpoints'),
  adapter: path.join(directory, 'adapter'),
  lock: path.join(directory, 'lock'),
})

/** Makes the folder of a new run and writes its config. Errors: AppError 'file/unwritable'. */
export function createRunFolder(dataDirectory: string, config: unknown): RunFolder {
  const id = `run_${randomUUIDv7()}`
  const directory = path.join(dataFolders(dataDirectory).runs, id)
  const createdAt = Date.now()
  const paths = runPaths(directory)
  makeFolder(paths.checkpoints)
  writeFileAtomic(paths.config, `${JSON.stringify(config, null, 2)}\n`)
  writeFileAtomic(paths.run, `${JSON.stringify({ format: 1, id, createdAt })}\n`)
  return { id, directory, createdAt }
}

/** Finds a run by its id (or an unambiguous end or beginning of it), or by the path of its folder. */
export function openRunFolder(dataDirectory: string, idOrPath: string): RunFolder {
  if (isRunFolder(idOrPath)) return readRunFolder(path.resolve(idOrPath))
  const { runs } = dataFolders(dataDirectory)
  const matches = runNames(runs).filter((name) => name.startsWith(idOrPath) || name.endsWith(idOrPath))
  const [match, other] = matches
  if (match === undefined) {
    throw new AppError(
      'run/not-found',
      `There is no run «${idOrPath}».`,
      'turnwise runs list shows the runs there are.',
    )
  }
  if (other !== undefined) {
    throw new AppError(
      'run/not-found',
      `«${idOrPath}» fits ${matches.length} runs.`,
      'Give more of the run id.',
    )
  }
  return readRunFolder(path.join(runs, match))
}

/** All runs, oldest first; folders that are no runs are passed over. */
export function listRunFolders(dataDirectory: string): RunFolder[] {
  const { runs } = dataFolders(dataDirectory)
  return runNames(runs)
    .map((name) => path.join(runs, name))
    .filter(isRunFolder)
    .map(readRunFolder)
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
}

export const isRunFolder = (directory: string): boolean => existsSync(runPaths(directory).run)

function runNames(runs: string): string[] {
  try {
    return readdirSync(runs).filter((name) => name.startsWith('run_'))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw readError(runs, error)
  }
}

function readRunFolder(directory: string): RunFolder {
  const file = runPaths(directory).run
  const { format, id, createdAt } = readJsonObject(file, 'file/unreadable')
  if (format !== 1 || typeof id !== 'string' || typeof createdAt !== 'number') {
    throw new AppError('file/unreadable', `${file} does not describe a run that this version can read.`)
  }
  return { id, directory, createdAt }
}

/** Keeps a second process from training the same run; void when its process is gone. Errors: AppError 'run/busy'. */
export function lockRun(directory: string): Disposable {
  const { lock } = runPaths(directory)
  const holder = runHolder(directory)
  if (holder !== null) {
    throw new AppError(
      'run/busy',
      `The run in ${directory} is being trained by process ${holder}.`,
      `Stop that one first; if there is no such process, delete ${lock}.`,
    )
  }
  rmSync(lock, { force: true })
  try {
    writeFileSync(lock, `${process.pid} ${birthOf(process.pid) ?? ''}\n`, { flag: 'wx' })
  } catch (error) {
    throw writeError(lock, error)
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
}

/** Process id of the living process that trains the run, or null. */
export function runHolder(directory: string): number | null {
  const { lock } = runPaths(directory)
  if (!existsSync(lock)) return null
  const [, pid, birth = ''] = /^(\d+) ?(\d*)$/.exec(readFileSync(lock, 'utf8').trim()) ?? []
  return pid !== undefined && isAlive(Number(pid), birth) ? Number(pid) : null
}

/** Whether that very process lives: its id may have gone to another since. */
function isAlive(pid: number, birth: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
  return process.platform !== 'linux' || birth === '' || birthOf(pid) === birth
}

/** When a process began, in ticks since the machine did; null where it is gone (dead but unburied too) or the system does not tell. */
function birthOf(pid: number): string | null {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return null
  // The name in parentheses may hold anything; after it come the state and, as 20th from there, the start time.
  const fields = readFileSync(file, 'latin1').split(') ').at(-1)?.split(' ') ?? []
  return fields[0] === 'Z' ? null : (fields[19] ?? null)
}

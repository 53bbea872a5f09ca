/**
 * Keeps the history consistent with the run folders, which are the source of truth: a run that another process created,
 * or whose database was lost, is restored from its folder, and events logged while no host was running are read when one
 * starts.
 */
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { isEnded, type RunEntry } from '#shared/runs.ts'
import { entryOf, requireInside } from '#host/files/ownFiles.ts'
import { isRunFolder, openRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { workHolder, workNames } from '#host/workFolder/workFolder.ts'
import { formerHome } from '#host/files/movedPaths.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { OnFault } from '#host/faults.ts'
import type { ObservedStorage } from '#host/store/storage.ts'
import type { Store } from '#host/store/store.ts'
import type { WorkerEnding } from './supervisor.ts'

/** DataStorage with the history of its runs. */
export interface RunKeeper extends ObservedStorage {
  readonly history: RunHistory
}

export interface RunHistoryOptions {
  readonly dataDirectory: string
  readonly store: Store
  /** Returns true if a process of this host trains the run. */
  readonly isTrainedHere: (runId: string) => boolean
  readonly onFault: OnFault
  /** Longest time for taking in runs at once; the others follow with the next looks around. */
  readonly sliceMs: number
}

/** A run that cannot be taken in, or whose log cannot be read on. */
export interface UnreadableRun {
  readonly directory: string
  readonly error: AppError
}

interface Unread extends UnreadableRun {
  /** Stamp of the files that were read: they are tried again when one of them has changed, or after a while. */
  readonly stamp: string
  readonly triedAt: number
}

const tryAgainMs = 60_000
const maxConfigBytes = 4 << 20

export class RunHistory {
  readonly #options: RunHistoryOptions
  /** Runs known to the store. */
  readonly #known: Set<string>
  /** Reason why the history is behind; null when it is not. */
  #problem: AppError | null = null
  /** Unread runs by folder. */
  readonly #unread = new Map<string, Unread>()
  #unreadChanges = 0
  #pending = 0

  /** Errors: those of the store. */
  constructor(options: RunHistoryOptions) {
    this.#options = options
    this.#known = new Set(options.store.runs.list().map(({ id }) => id))
    this.adopt()
    for (const run of options.store.runs.list()) if (!isEnded(run.status)) this.refresh(run)
  }

  /** Reason why the last attempt to read a log into the history failed; null when the history is complete. */
  get problem(): AppError | null {
    return this.#problem
  }

  /** Runs whose folders cannot be read, with the reason: they concern no other run. */
  get unreadable(): readonly UnreadableRun[] {
    return [...this.#unread.values()]
  }

  /** Number of runs still to be taken in. */
  get pending(): number {
    return this.#pending
  }

  /** Takes in runs with new folders, as long as there is time. Returns their ids. Errors: those of the store. */
  adopt(): string[] {
    const { runs } = dataFolders(this.#options.dataDirectory)
    for (const directory of this.#unread.keys()) if (!existsSync(directory)) this.#readable(directory)
    const found = workNames(runs, 'run_').filter(
      (name) => !this.#known.has(name) && isRunFolder(path.join(runs, name)),
    )
    const deadline = performance.now() + this.#options.sliceMs
    const adopted: string[] = []
    this.#pending = found.length
    for (const name of found) {
      if (performance.now() > deadline) break
      if (this.adoptRun(name)) adopted.push(name)
      this.#pending--
    }
    return adopted
  }

  /** Takes in the run of this id, whose folder is new; returns true if it could be read. Errors: those of the store. */
  adoptRun(runId: string): boolean {
    const directory = entryOf(dataFolders(this.#options.dataDirectory).runs, runId)
    const run = this.#ofRun(directory, () => this.add(this.#openNamed(directory, runId)))
    if (run !== undefined) this.refresh(run)
    return run !== undefined
  }

  /** A folder that was copied says that it is another run. */
  #openNamed(directory: string, name: string): RunFolder {
    const folder = openRunFolder(this.#options.dataDirectory, directory)
    if (folder.id === name) return folder
    throw new AppError(
      'file/unreadable',
      `${directory} says that it is the run ${folder.id}.`,
      'A run cannot be copied by its folder. Move this one out of the data directory.',
    )
  }

  /** Makes a run known. */
  add(folder: RunFolder): RunEntry {
    const file = runPaths(folder.directory).config
    requireInside(file, folder.directory)
    const config = new TextDecoder().decode(readSmallFile(file, maxConfigBytes))
    const home = folder.home ?? formerHome(this.#options.dataDirectory)
    const run = this.#options.store.runs.add({ ...folder, home, config })
    this.#known.add(run.id)
    return run
  }

  /**
   * Reads what is new in the run's log; returns true if there was anything. A failure is noted but does not stop
   * training: the log holds everything and is read again next time.
   */
  ingest({ id, directory }: Pick<RunEntry, 'id' | 'directory'>): boolean {
    return this.attempt(() => this.#ofRun(directory, () => this.#read(id, directory))) ?? false
  }

  #read(id: string, directory: string): boolean {
    return this.#options.store.ingest(id, runPaths(directory).events).length > 0
  }

  /**
   * Reads the log and finds out if a process still trains the run; returns true if anything changed. Errors: those of
   * the store.
   */
  refresh(run: RunEntry): boolean {
    return this.#ofRun(run.directory, () => this.#refresh(run)) ?? false
  }

  #refresh({ id, directory }: RunEntry): boolean {
    const { store, isTrainedHere } = this.#options
    // Looked at first: a process that ends in between has written all it had to say.
    const isLiving = isTrainedHere(id) || workHolder(directory) !== null
    const hasGrown = this.#read(id, directory)
    const status = store.runs.find(id)?.status
    const isLeft = (status === 'running' || status === 'paused') && !isLiving
    if (isLeft) store.runs.setStatus(id, 'interrupted')
    return hasGrown || isLeft
  }

  /** Looks for runs that other processes made, trained or left; returns true if there was news. */
  lookAround(): boolean {
    const changes = this.#unreadChanges
    const look = () => {
      const isNew = this.adopt().length > 0
      return this.#openElsewhere().filter((run) => this.refresh(run)).length > 0 || isNew
    }
    return this.attempt(look) === true || this.#unreadChanges > changes
  }

  /**
   * Runs an action on one run. An error that concerns this run alone is recorded for it; one that concerns the history
   * is thrown.
   */
  #ofRun<Result>(directory: string, action: () => Result): Result | undefined {
    const stamp = stampOf(directory)
    const known = this.#unread.get(directory)
    if (known?.stamp === stamp && Date.now() - known.triedAt < tryAgainMs) return undefined
    try {
      const result = action()
      this.#readable(directory)
      return result
    } catch (error) {
      if (concernsHistory(error)) throw error
      if (!(error instanceof AppError)) this.#options.onFault(`reading ${directory}`, error)
      this.#unread.set(directory, {
        directory,
        error: asUnreadable(directory, error),
        stamp,
        triedAt: Date.now(),
      })
      if (known === undefined) this.#unreadChanges++
      return undefined
    }
  }

  #readable(directory: string): void {
    if (this.#unread.delete(directory)) this.#unreadChanges++
  }

  /** Lists runs that other processes train, or that nobody has begun. */
  #openElsewhere(): RunEntry[] {
    const { store, isTrainedHere } = this.#options
    const open = (['running', 'paused', 'new'] as const).flatMap((status) => store.runs.list({ status }))
    return open.filter(({ id }) => !isTrainedHere(id))
  }

  /**
   * Runs an action on the history and returns its result; undefined where that failed, with the reason in `problem`.
   */
  attempt<Result>(action: () => Result): Result | undefined {
    try {
      const answer = action()
      this.#problem = null
      return answer
    } catch (error) {
      if (!(error instanceof AppError)) this.#options.onFault('the history', error)
      this.#problem = error instanceof AppError ? error : fault(error)
      return undefined
    }
  }

  /** Writes down how a process of this host ended. */
  ended({ runId, directory, kind, error, stderrTail }: WorkerEnding): void {
    const { store } = this.#options
    this.ingest({ id: runId, directory })
    const details = error === null ? {} : { error: { ...error, hint: error.hint ?? null } }
    if (kind === 'finished' || kind === 'stopped') return
    const status = kind === 'failed' ? 'failed' : 'interrupted'
    this.attempt(() => store.runs.setStatus(runId, status, { ...details, stderrTail }))
  }

  forget(runId: string): void {
    this.#options.store.runs.remove(runId)
    this.#known.delete(runId)
  }
}

const concernsHistory = (error: unknown): boolean =>
  error instanceof AppError && (error.code.startsWith('store/') || error.code === 'file/unwritable')

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const asUnreadable = (directory: string, error: unknown): AppError =>
  error instanceof AppError
    ? error
    : new AppError(
        'file/unreadable',
        `The run in ${directory} could not be added to the history: ${messageOf(error)}.`,
        'Other runs are not affected, and nothing in its folder was changed.',
        error,
      )

const fault = (error: unknown): AppError =>
  new AppError(
    'store/unreadable',
    `The history could not be updated: ${messageOf(error)}.`,
    'This is a fault in Turnwise. Nothing is lost: the run folders hold everything. Turnwise will try again.',
    error,
  )

/** Changes with any of the files that are read, their permissions included. */
function stampOf(directory: string): string {
  const { run, config, events, lock } = runPaths(directory)
  return [run, config, events, lock].map(fileStamp).join()
}

const fileStamp = (file: string): string =>
  attempt(() => {
    const { ctimeMs, size } = statSync(file)
    return `${ctimeMs}:${size}`
  }, '')

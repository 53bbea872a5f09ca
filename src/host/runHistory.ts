/**
 * Keeps the history in line with the folders of the runs, which are the truth: a run that was made by another process
 * or whose database was lost comes back from its folder, and what a log gained while no host looked is read when one
 * looks again.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { RunEntry, RunStatus } from '#shared/runs.ts'
import { readError, systemCode } from './artifacts/fileErrors.ts'
import { isRunFolder, openRunFolder, runHolder, runPaths, type RunFolder } from './artifacts/runFolder.ts'
import { dataFolders } from './dataDirectory.ts'
import type { Store } from './store/store.ts'
import type { WorkerEnding } from './workers/supervisor.ts'

/** States that only change when somebody trains the run again. */
const settled: ReadonlySet<RunStatus> = new Set(['finished', 'stopped', 'failed', 'interrupted'])

export interface RunHistoryOptions {
  readonly dataDirectory: string
  readonly store: Store
  /** Whether a process of this host trains the run. */
  readonly isTrainedHere: (runId: string) => boolean
}

export class RunHistory {
  readonly #options: RunHistoryOptions
  /** Runs known to the store. */
  readonly #known: Set<string>
  /** Why the history is behind, as long as it is. */
  #problem: AppError | null = null

  /** Errors: those of the store. */
  constructor(options: RunHistoryOptions) {
    this.#options = options
    this.#known = new Set(options.store.runs.list().map(({ id }) => id))
    this.adopt()
    for (const run of options.store.runs.list()) if (!settled.has(run.status)) this.refresh(run)
  }

  /** Why the last attempt to read a log into the history failed; null when the history is complete. */
  get problem(): AppError | null {
    return this.#problem
  }

  /** Takes in runs whose folder is new. Returns their ids. */
  adopt(): string[] {
    const { runs } = dataFolders(this.#options.dataDirectory)
    return namesIn(runs).flatMap((name) => {
      if (this.#known.has(name) || !isRunFolder(path.join(runs, name))) return []
      const run = this.add(openRunFolder(this.#options.dataDirectory, path.join(runs, name)))
      this.refresh(run)
      return [run.id]
    })
  }

  /** Makes a run known. */
  add(folder: RunFolder): RunEntry {
    const config = readFileSync(runPaths(folder.directory).config, 'utf8')
    const run = this.#options.store.runs.add({ ...folder, config })
    this.#known.add(run.id)
    return run
  }

  /**
   * Reads what is new in the run's log; whether there was anything. A failure is kept as `problem` and no reason to stop
   * training: the log holds everything and is read again next time.
   */
  ingest({ id, directory }: Pick<RunEntry, 'id' | 'directory'>): boolean {
    return this.attempt(() => this.#options.store.ingest(id, runPaths(directory).events).length > 0) ?? false
  }

  /** Reads the log and finds out whether anybody still trains the run; whether anything changed. */
  refresh(run: RunEntry): boolean {
    const { store, isTrainedHere } = this.#options
    // Looked at first: a process that ends in between has written all it had to say.
    const isLiving = isTrainedHere(run.id) || runHolder(run.directory) !== null
    const hasGrown = this.ingest(run)
    const status = store.runs.find(run.id)?.status
    const isLeft = (status === 'running' || status === 'paused') && !isLiving
    if (isLeft) store.runs.setStatus(run.id, 'interrupted')
    return hasGrown || isLeft
  }

  /** Looks for runs that other processes made, trained or left; whether there was news. */
  lookAround(): boolean {
    const look = () => {
      const isNew = this.adopt().length > 0
      return this.#openElsewhere().filter((run) => this.refresh(run)).length > 0 || isNew
    }
    return this.attempt(look) ?? false
  }

  /** Runs that other processes train, or that nobody has begun. */
  #openElsewhere(): RunEntry[] {
    const { store, isTrainedHere } = this.#options
    const open = (['running', 'paused', 'new'] as const).flatMap((status) => store.runs.list({ status }))
    return open.filter(({ id }) => !isTrainedHere(id))
  }

  /** What an action on the history gives; undefined where that failed, with the reason in `problem`. */
  attempt<Result>(action: () => Result): Result | undefined {
    try {
      const answer = action()
      this.#problem = null
      return answer
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      this.#problem = error
      return undefined
    }
  }

  /** Writes down how a process of this host ended. */
  ended({ runId, directory, kind, error, lastWords }: WorkerEnding): void {
    const { store } = this.#options
    this.ingest({ id: runId, directory })
    const details = error === null ? {} : { error: { ...error, hint: error.hint ?? null } }
    if (kind === 'finished' || kind === 'stopped') return
    const status = kind === 'failed' ? 'failed' : 'interrupted'
    this.attempt(() => store.runs.setStatus(runId, status, { ...details, lastWords }))
  }

  forget(runId: string): void {
    this.#options.store.runs.remove(runId)
    this.#known.delete(runId)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith('run_'))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw readError(folder, error)
  }
}

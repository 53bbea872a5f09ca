/**
 * Starts, watches and stops training processes, one per run. It reads no log and writes no history: it tells when a log
 * grew, how each process is, and how it ended. A process outlives a supervisor that dies; it then ends by itself, with a
 * checkpoint.
 */
import path from 'node:path'
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, truncateSync } from 'node:fs'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { attempt } from '#shared/attempt.ts'
import type { SettingChange } from '#shared/config/changes.ts'
import { AppError } from '#shared/errors.ts'
import type { RunPhase } from '#shared/events.ts'
import { commandWord } from '#shared/shownText.ts'
import { faultToStderr, guarded, type OnFault } from '#host/faults.ts'
import { deathOf, jobStarter, type FromJob, type JobProcess, type StartJob } from '#host/processes/job.ts'
import type { ErrorEnvelope, WorkerEnvironment, WorkerExit } from '#host/processes/messages.ts'
import { requireOwn } from '#host/files/ownFiles.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { trainingJob, type TrainingNews, type TrainingOrder, type TrainingRequest } from './trainingJob.ts'

const defaultSilenceMs = 30_000

const alive: TrainingNews = { type: 'alive' }

export interface SupervisorOptions {
  readonly cacheDirectory: string
  /** Folder of this machine's consents to Python; absent: no Python runs. */
  readonly consents?: string
  /** Returns the key that the agents of a run show; undefined where none act in it. */
  readonly agentKey?: (runId: string) => string | undefined
  /** Starts processes; child processes of Node if absent. */
  readonly startJob?: StartJob
  /** Called for each process, as the environment may change. */
  readonly environment?: () => WorkerEnvironment
  /** A process says nothing for so long: it is marked as silent. */
  readonly silentAfterMs?: number
  /** Returns what a trial of the run's settings expected of each stage. */
  readonly expectedOf?: (runId: string) => TrainingRequest['expected']
  /** The run's log holds more than before. */
  readonly onGrown?: (runId: string) => void
  readonly onChanged?: (worker: WorkerStatus) => void
  /** A process went over to another part of its step. */
  readonly onPhase?: (worker: WorkerStatus) => void
  /** Called after the last `onGrown` of that process. */
  readonly onEnded?: (ending: WorkerEnding) => void
  /** Called with errors that the functions above throw: nobody else is there to catch them. */
  readonly onFault?: OnFault
}

/** Activity of a process; `pausing` and `stopping` wait for the end of a step. */
export type WorkerActivity = 'starting' | 'running' | 'pausing' | 'paused' | 'stopping'

/** State of a process; times in epoch milliseconds. */
export type WorkerStatus = OutputOf<Api, 'runs.workers'>[number] & {
  readonly directory: string
  /** Changes of the run's settings with which it was told to go on last; null: it was told none. */
  readonly changes: readonly SettingChange[] | null
}

/** `failed`: it said why; `killed`: on request; `crashed`: it died without a word of its own. */
export type EndingKind = 'finished' | 'stopped' | 'failed' | 'killed' | 'crashed'

export interface WorkerEnding {
  readonly runId: string
  readonly directory: string
  readonly kind: EndingKind
  /** Error; set where it failed, was killed or crashed. */
  readonly error: ErrorEnvelope | null
  /** End of its output on stdout and stderr; null when there was none. */
  readonly stderrTail: string | null
}

export interface StartOptions {
  /** Folder of the checkpoint to go on from; null = from the start. */
  readonly resumeFrom: string | null
  /** Changes of the run's settings, some of them made for this start; absent: those of its log. */
  readonly changes?: readonly SettingChange[] | undefined
  /** Evaluate and stop after this step; absent: train to the end. */
  readonly until?: number
}

interface Worker {
  status: WorkerStatus
  readonly process: JobProcess<TrainingRequest, TrainingNews, TrainingOrder>
  /** Byte of worker.log where its words begin. */
  readonly stderrFrom: number
  readonly ended: Promise<WorkerEnding>
  isKilled: boolean
  phase: RunPhase | null
  error: ErrorEnvelope | null
}

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #startJob: StartJob
  readonly #onFault: OnFault
  readonly #workers = new Map<string, Worker>()
  readonly #watch: NodeJS.Timeout

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#onFault = options.onFault ?? faultToStderr
    this.#startJob = options.startJob ?? jobStarter()
    const { silentAfterMs = defaultSilenceMs } = options
    this.#watch = setInterval(() => this.#markSilent(silentAfterMs), silentAfterMs / 4)
    this.#watch.unref()
  }

  /**
   * Starts training in a process of its own and resolves when that has ended, however it did: failures are data.
   * Errors (thrown at once): AppError 'run/busy' when the run is being trained, here or elsewhere; 'file/unwritable'.
   */
  start(
    run: { readonly id: string; readonly directory: string },
    options: StartOptions,
  ): Promise<WorkerEnding> {
    const { id: runId, directory } = run
    const holder = this.#workers.get(runId)?.status.pid ?? workHolder(directory)
    if (holder !== null || this.#workers.has(runId)) throw busy(runId, holder)
    const request = this.#requestOf(runId, directory, options)
    const logFile = runPaths(directory).workerLog
    const stderrFrom = prepareWorkerLog(logFile)
    const process = this.#startJob(trainingJob, {
      logFile,
      environment: this.#options.environment?.() ?? {},
    })
    const now = Date.now()
    const { pid } = process
    const heard = {
      activity: 'starting',
      stepPhase: null,
      phaseProgress: null,
      startedAt: now,
      lastHeardAt: now,
      isSilent: false,
    } as const
    const worker: Worker = {
      status: { runId, directory, pid, changes: options.changes ?? null, ...heard },
      process,
      stderrFrom,
      ended: process.ended.then((exit) => this.#end(runId, exit)),
      isKilled: false,
      phase: null,
      error: null,
    }
    this.#workers.set(runId, worker)
    process.onMessage((message) => this.#hear(worker, message))
    process.send({ type: 'start', input: request })
    this.#tell('onChanged', worker.status)
    return worker.ended
  }

  #requestOf(runId: string, runDirectory: string, options: StartOptions): TrainingRequest {
    const { cacheDirectory, consents } = this.#options
    const agentKey = this.#options.agentKey?.(runId)
    const expected = this.#options.expectedOf?.(runId) ?? null
    return {
      runDirectory,
      cacheDirectory,
      expected,
      ...options,
      ...(consents === undefined ? {} : { consents }),
      ...(agentKey === undefined ? {} : { agentKey }),
    }
  }

  /** Lists every living process of this supervisor. */
  list(): WorkerStatus[] {
    return [...this.#workers.values()].map(({ status }) => status)
  }

  /** null: this supervisor has no process of that run. */
  status(runId: string): WorkerStatus | null {
    return this.#workers.get(runId)?.status ?? null
  }

  /** Pauses the run after its current step, with a checkpoint. Errors, as of those below: AppError 'run/not-found'. */
  pause(runId: string): void {
    const worker = this.#find(runId)
    if (worker.status.activity === 'stopping' || worker.status.activity === 'paused') return
    worker.process.send({ type: 'order', order: { type: 'pause' } })
    this.#change(worker, { activity: 'pausing' })
  }

  /** Continues a paused run; `changes`: all of its settings changes, some of them made during this pause. */
  unpause(runId: string, changes?: readonly SettingChange[]): void {
    const worker = this.#find(runId)
    if (worker.status.activity === 'stopping') return
    worker.process.send({ type: 'order', order: { type: 'unpause', changes } })
    if (changes !== undefined) worker.status = { ...worker.status, changes }
    const isHeld = worker.status.activity === 'pausing' || worker.status.activity === 'paused'
    if (isHeld) this.#change(worker, { activity: 'running' })
  }

  /** Ends the run after its current step, with a checkpoint; resolves when it has ended. */
  stop(runId: string): Promise<WorkerEnding> {
    const worker = this.#find(runId)
    worker.process.send({ type: 'order', order: { type: 'stop' } })
    this.#change(worker, { activity: 'stopping' })
    return worker.ended
  }

  /** Ends the process at once; what was not in a checkpoint is done again on resume. */
  kill(runId: string): Promise<WorkerEnding> {
    const worker = this.#find(runId)
    worker.isKilled = true
    worker.process.kill()
    return worker.ended
  }

  /** Stops every run gently; resolves when all have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((runId) => this.stop(runId)))
    clearInterval(this.#watch)
  }

  #find(runId: string): Worker {
    const worker = this.#workers.get(runId)
    if (worker !== undefined) return worker
    throw new AppError('run/not-found', `The run ${runId} is not being trained here.`)
  }

  #change(worker: Worker, change: Partial<WorkerStatus>): void {
    worker.status = { ...worker.status, ...change }
    this.#tell('onChanged', worker.status)
  }

  #hear(worker: Worker, message: FromJob<TrainingNews>): void {
    const wasSilent = worker.status.isSilent
    // Some kinds of process have no number before they run.
    const { pid } = worker.process
    worker.status = { ...worker.status, pid, lastHeardAt: Date.now(), isSilent: false }
    if (message.type === 'failed') worker.error = message.error
    const news = message.type === 'item' ? message.item : alive
    const phase = news.type === 'grown' ? news.phase : null
    if (phase !== null) worker.phase = phase
    const activity = activityAt(phase, worker.status.activity)
    if (wasSilent || activity !== worker.status.activity) this.#change(worker, { activity })
    if (news.type === 'phase') this.#step(worker, news)
    if (news.type === 'grown') this.#tell('onGrown', worker.status.runId)
  }

  #step(worker: Worker, { phase, progress }: Extract<TrainingNews, { type: 'phase' }>): void {
    worker.status = { ...worker.status, stepPhase: phase, phaseProgress: progress }
    this.#tell('onPhase', worker.status)
  }

  #tell<Name extends 'onGrown' | 'onChanged' | 'onPhase' | 'onEnded'>(
    name: Name,
    what: Parameters<NonNullable<SupervisorOptions[Name]>>[0],
  ): void {
    const listener = this.#options[name] as ((what: unknown) => void) | undefined
    if (listener !== undefined) guarded(name, this.#onFault, listener)(what)
  }

  #markSilent(silentAfterMs: number): void {
    for (const worker of this.#workers.values()) {
      const { isSilent, lastHeardAt } = worker.status
      if (!isSilent && Date.now() - lastHeardAt > silentAfterMs) this.#change(worker, { isSilent: true })
    }
  }

  #end(runId: string, exit: WorkerExit): WorkerEnding {
    const worker = this.#find(runId)
    this.#workers.delete(runId)
    const { directory } = worker.status
    const stderrTail = readStderrTail(runPaths(directory).workerLog, worker.stderrFrom)
    const ending = { runId, directory, stderrTail, ...howItEnded(worker, exit) }
    this.#tell('onGrown', runId)
    this.#tell('onEnded', ending)
    return ending
  }
}

/** A step may end between the request to pause or stop and its arrival. */
function activityAt(phase: RunPhase | null, activity: WorkerActivity): WorkerActivity {
  const isEnding = activity === 'stopping' || phase === 'finished' || phase === 'stopped'
  if (phase === null || isEnding) return activity
  if (phase === 'paused') return 'paused'
  return activity === 'pausing' ? 'pausing' : 'running'
}

function howItEnded(
  { phase, error, isKilled, status }: Worker,
  exit: WorkerExit,
): Pick<WorkerEnding, 'kind' | 'error'> {
  if (error !== null) return { kind: 'failed', error }
  if (phase === 'finished' || phase === 'stopped') return { kind: phase, error: null }
  const command = `Its checkpoints are complete; resume from the last one with: turnwise resume ${commandWord(path.basename(status.directory))}`
  if (isKilled)
    return { kind: 'killed', error: { code: 'run/stopped', message: 'Stopped at once.', command } }
  return { kind: 'crashed', error: { ...deathOf(trainingJob.name, exit), command } }
}

const busy = (runId: string, holder: number | null): AppError =>
  new AppError(
    'run/busy',
    `The run ${runId} is being trained by process ${holder ?? 'unknown'}.`,
    'Stop that one first.',
  )

/* What a training process wrote to stdout and stderr before it died: `worker.log` in the run's folder. */

/** Size of the log at which it begins again, after growing over many starts. */
const maxLogBytes = 1 << 20
const maxWords = 4096

/** Prepares the log for another process and says where that one's words will begin. Errors: AppError 'file/unwritable'. */
function prepareWorkerLog(file: string): number {
  requireOwn(file, 'file')
  const size = sizeOf(file)
  if (size <= maxLogBytes) return size
  truncateSync(file)
  return 0
}

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

/** The end of the log from a byte on, whole lines where it is long; null when nothing was said or nothing can be read. */
export function readStderrTail(file: string, from = 0): string | null {
  // The end of the process is reported without them.
  return attempt(() => wordsAt(file, from), null)
}

function wordsAt(file: string, from: number): string | null {
  if (sizeOf(file) <= from) return null
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const start = Math.max(from, size - maxWords)
    const bytes = Buffer.alloc(size - start)
    const text = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, start)).toString('utf8')
    const words = (start > from ? text.slice(text.indexOf('\n') + 1) : text).trim()
    return words === '' ? null : words
  } finally {
    closeSync(handle)
  }
}

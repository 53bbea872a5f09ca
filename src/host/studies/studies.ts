/**
 * Runs the studies of a host: trains the trials that `planStudy` names, a process for each as for any run, and writes down what they
 * come to. What is to be done next is worked out anew from the log after every result.
 */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fitnessOf, spentBetween } from './trialMetrics.ts'
import type { StudyEntry } from '#shared/api/studies.ts'
import { AppError } from '#shared/errors.ts'
import type { StudyPlan, Trial, TrialResult } from '#shared/studies.ts'
import { planStudy } from '#rl/studies/plan.ts'
import { guarded, type OnFault } from '#host/faults.ts'
import { writeError } from '#host/files/fileErrors.ts'
import type { Host } from '#host/host.ts'
import { packError, type ErrorEnvelope } from '#host/processes/messages.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { createRunFolder, isRunFolder, newRunId, openRunFolder, runHolder } from '#host/runs/runFolder.ts'
import { forkRun } from '#host/runs/runLifecycle.ts'
import { checkpointDirectory, resolveResume } from '#host/runs/runTarget.ts'
import type { WorkerEnding } from '#host/runs/supervisor.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { checkStudy, subjectOf, trialConfig } from './studyConfig.ts'
import {
  createStudyFolder,
  dropTornLine,
  lockStudy,
  logResult,
  logTrial,
  openStudyFolder,
  readStudyLog,
  setStudyState,
  studyDirectories,
  studyDirectory,
  studyStamp,
  studyState,
  type StudyFolder,
  type StudyLog,
  type StudyState,
} from './studyFolder.ts'

export type StudyParts = Pick<
  Host,
  'dataDirectory' | 'store' | 'history' | 'supervisor' | 'notifier' | 'askText'
> & {
  readonly onFault: OnFault
}

/** A process that dies without a word is started again so often before the study gives up. */
const attempts = 3

interface Driven {
  readonly study: StudyFolder
  /** Aborted: trials stop after their current step. */
  readonly stopping: AbortController
  readonly over: Promise<void>
}

interface Known {
  readonly stamp: string
  readonly entry: StudyEntry
}

export class Studies implements AsyncDisposable {
  readonly #parts: StudyParts
  readonly #driven = new Map<string, Driven>()
  readonly #known = new Map<string, Known>()
  #isClosing = false

  constructor(parts: StudyParts) {
    this.#parts = parts
  }

  /** Errors: those of `checkStudy`; AppError 'file/unwritable'. */
  async start(given: unknown, base: string): Promise<StudyEntry> {
    const { dataDirectory, askText } = this.#parts
    const { file, steps, start, parallel } = await checkStudy(given, { dataDirectory, base, askText })
    const study = createStudyFolder(dataDirectory, { file, steps, start, parallel })
    this.#drive(study)
    return this.get(study.id)
  }

  /** Goes on where it stopped. Errors: AppError 'run/not-found', 'run/busy', 'api/refused' where it is finished. */
  resume(id: string): void {
    const study = this.#open(id)
    if (this.#driven.has(id)) throw new AppError('run/busy', 'This study is already running.')
    if (studyState(study.directory).status === 'finished')
      throw new AppError('api/refused', 'This study is finished.')
    this.#drive(study)
  }

  /** Trials stop after their current step, with a checkpoint; resolves when they have. Errors: AppError 'run/not-found', 'run/busy' where another process runs it. */
  async stop(id: string): Promise<void> {
    const driven = this.#driven.get(id)
    if (driven !== undefined) {
      driven.stopping.abort()
      await driven.over
      return
    }
    const { directory } = this.#open(id)
    const { status } = studyState(directory)
    if (status === 'running')
      throw new AppError('run/busy', 'Another process runs this study.', 'Stop it there.')
    if (status === 'waiting' || status === 'interrupted')
      this.#set(directory, { status: 'stopped', error: null })
  }

  /** Its runs stay, as runs of their own. Errors: AppError 'run/not-found', 'run/busy', 'file/unwritable'. */
  remove(id: string): void {
    const { directory } = this.#open(id)
    if (this.#driven.has(id) || studyState(directory).status === 'running')
      throw new AppError('run/busy', 'This study is running, so it cannot be deleted.', 'Stop it first.')
    try {
      rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      throw writeError(directory, error)
    }
    this.#known.delete(id)
    this.#parts.notifier.notify()
  }

  /** The newest first; one that cannot be read is left out. */
  list(): StudyEntry[] {
    return studyDirectories(this.#parts.dataDirectory).flatMap((directory) => {
      try {
        return [this.#entryOf(directory)]
      } catch (error) {
        if (error instanceof AppError) return []
        throw error
      }
    })
  }

  /** Errors: AppError 'run/not-found', 'file/unreadable', 'data/invalid'. */
  get(id: string): StudyEntry {
    return this.#entryOf(this.#open(id).directory)
  }

  /** Resolves when this host no longer runs it. */
  async ended(id: string): Promise<StudyEntry> {
    await this.#driven.get(id)?.over
    return this.get(id)
  }

  /** Takes up what a host before this one had to leave. `also`: those whose host was killed. */
  takeUpWaiting(also: boolean): void {
    for (const directory of studyDirectories(this.#parts.dataDirectory).toReversed()) {
      const { status } = studyState(directory)
      if (status === 'waiting' || (also && status === 'interrupted')) this.#drive(openStudyFolder(directory))
    }
  }

  /** What is not done waits for the next host. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    for (const { stopping } of this.#driven.values()) stopping.abort()
    await Promise.all([...this.#driven.values()].map(({ over }) => over))
  }

  #open(id: string): StudyFolder {
    const directory = studyDirectory(this.#parts.dataDirectory, id)
    if (studyDirectories(this.#parts.dataDirectory).includes(directory)) return openStudyFolder(directory)
    throw new AppError('run/not-found', 'There is no such study.', {
      text: 'It may have been deleted.',
      command: '`turnwise studies list` shows those there are.',
    })
  }

  #set(directory: string, state: StudyState): void {
    setStudyState(directory, state)
    this.#parts.notifier.notify()
  }

  /** Errors: AppError 'run/busy', 'file/unwritable'. */
  #drive(study: StudyFolder): void {
    const lock = lockStudy(study.directory)
    const stopping = new AbortController()
    this.#set(study.directory, { status: 'running', error: null })
    const over = this.#toItsEnd(study, stopping.signal)
      .then(
        (status): StudyState => ({ status, error: null }),
        (error: unknown): StudyState => {
          const { code, message, hint = null } = packError(error)
          return { status: 'failed', error: { code, message, hint } }
        },
      )
      .then((state) => {
        this.#driven.delete(study.id)
        guarded('a study', this.#parts.onFault, () => this.#set(study.directory, state))()
        lock[Symbol.dispose]()
        this.#parts.notifier.notify()
      })
    this.#driven.set(study.id, { study, stopping, over })
  }

  async #toItsEnd(study: StudyFolder, stopping: AbortSignal): Promise<'finished' | 'stopped' | 'waiting'> {
    dropTornLine(study.directory)
    const drive = new Drive(study, this.#parts, stopping)
    const isOver = await drive.run()
    if (isOver) return 'finished'
    return this.#isClosing ? 'waiting' : 'stopped'
  }

  #entryOf(directory: string): StudyEntry {
    const stamp = studyStamp(directory)
    const id = path.basename(directory)
    const known = this.#known.get(id)
    const state = studyState(directory)
    if (known?.stamp === stamp && known.entry.status === state.status) return known.entry
    const entry = entryOf(openStudyFolder(directory), readStudyLog(directory), state)
    this.#known.set(id, { stamp, entry })
    return entry
  }
}

function entryOf(study: StudyFolder, { runs, results }: StudyLog, { status, error }: StudyState): StudyEntry {
  const { id, createdAt, steps, parallel, config, file } = study
  const plan = planStudy(subjectOf(study), results)
  const { best } = plan
  return {
    ...{ id, createdAt, steps, parallel, status, error, file },
    name: config.name,
    search: config.search,
    trials: plan.trials.map((trial) => ({
      ...trial,
      runId: runs.get(trial.index) ?? null,
      results: results.filter((result) => result.trial === trial.index),
    })),
    pending: plan.pending,
    best: best === null ? null : { ...best, runId: runs.get(best.trial) ?? null },
  }
}

/** One study while this process drives it. */
class Drive {
  readonly #study: StudyFolder
  readonly #parts: StudyParts
  readonly #stopping: AbortSignal
  readonly #runs: Map<number, string>
  readonly #results: TrialResult[]
  readonly #training = new Map<number, Promise<void>>()
  readonly #failures: unknown[] = []

  constructor(study: StudyFolder, parts: StudyParts, stopping: AbortSignal) {
    this.#study = study
    this.#parts = parts
    this.#stopping = stopping
    const { runs, results } = readStudyLog(study.directory)
    this.#runs = new Map(runs)
    this.#results = [...results]
  }

  /** Whether it is over; else it was stopped. Errors: what ended a trial and is no fault of its settings. */
  async run(): Promise<boolean> {
    const stopAll = () => this.#stopTrials()
    this.#stopping.addEventListener('abort', stopAll)
    try {
      for (;;) {
        const plan = planStudy(subjectOf(this.#study), this.#results)
        if (plan.isOver) return true
        const isEnding = this.#stopping.aborted || this.#failures.length > 0
        if (isEnding && this.#training.size === 0) break
        if (!isEnding) this.#begin(plan)
        await Promise.race(this.#training.values())
      }
    } finally {
      this.#stopping.removeEventListener('abort', stopAll)
      this.#stopTrials()
      await Promise.all(this.#training.values())
    }
    if (this.#failures.length > 0) throw this.#failures[0]
    return false
  }

  #stopTrials(): void {
    const { supervisor } = this.#parts
    for (const trial of this.#training.keys()) {
      const runId = this.#runs.get(trial)
      if (runId !== undefined && supervisor.status(runId) !== null) void supervisor.stop(runId)
    }
  }

  /** All trials have their runs before any of them trains: clones of a member that trains on begin at its checkpoint of now. */
  #begin({ pending, trials }: StudyPlan): void {
    for (const { trial } of pending) this.#ensureRun(trials, trial)
    for (const { trial, until } of pending) {
      if (this.#training.size >= this.#study.parallel) return
      if (this.#training.has(trial)) continue
      const over = this.#train(trial, until)
        .catch((error: unknown) => void this.#failures.push(error))
        .finally(() => this.#training.delete(trial))
      this.#training.set(trial, over)
    }
  }

  #ensureRun(trials: readonly Trial[], index: number): void {
    const { dataDirectory, store, history } = this.#parts
    const trial = trials[index]
    if (trial === undefined) throw new Error(`Expected trial ${index} in the plan.`)
    const { directory, id: studyId, config } = this.#study
    let runId = this.#runs.get(index)
    if (runId === undefined) {
      runId = newRunId()
      logTrial(directory, index, runId)
      this.#runs.set(index, runId)
    }
    if (store.runs.find(runId) !== null) return
    const folder = path.join(dataFolders(dataDirectory).runs, runId)
    if (isRunFolder(folder)) {
      history.adoptRun(runId)
      return
    }
    const own = { runId, study: { studyId, trial: index } }
    const settings = trialConfig(config, trial)
    if (trial.parent === null)
      history.add(createRunFolder(dataDirectory, parseRunConfig(settings), { trial: own }))
    else {
      const parent = store.runs.get(this.#runs.get(trial.parent.index) ?? '')
      const checkpoint = checkpointDirectory(parent, trial.parent.step)
      const changes = { ...trial.settings, name: settings['name'] }
      history.add(forkRun({ dataDirectory, checkpoint, changes, baseDirectory: dataDirectory, trial: own }))
    }
    this.#parts.notifier.notify()
  }

  async #train(trial: number, until: number): Promise<void> {
    const { dataDirectory, store, supervisor, notifier } = this.#parts
    const run = store.runs.get(this.#runs.get(trial) ?? '')
    // The process of a host that died may still be finishing its step.
    while (runHolder(run.directory) !== null && !this.#stopping.aborted) await setTimeout(holderPollMs)
    for (let attempt = 1; !this.#stopping.aborted; attempt++) {
      const found = resolveResume(dataDirectory, run.id)
      const step = found.checkpoint?.step ?? 0
      if (step >= until) return this.#conclude(trial, until)
      const ended = supervisor.start(run, { resumeFrom: found.checkpoint?.directory ?? null, until })
      notifier.notify()
      const ending = await ended
      const isDone = this.#takeEnding(ending, { trial, until, isLast: attempt >= attempts })
      if (isDone) return
    }
  }

  /** Whether nothing more is to be done now. */
  #takeEnding(
    { kind, error, runId }: WorkerEnding,
    { trial, until, isLast }: { readonly trial: number; readonly until: number; readonly isLast: boolean },
  ): boolean {
    if (kind === 'failed' && error !== null) {
      this.#fail(trial, until, error)
      return true
    }
    if (kind === 'crashed' && !isLast) return false
    if (kind === 'crashed' || kind === 'killed') throw failureOf(error, runId)
    // Reached, or stopped on the way: the checkpoint tells.
    const { step } = this.#parts.store.runs.get(runId)
    if (step < until && !this.#stopping.aborted)
      throw new AppError(
        'run/stopped',
        `The run ${runId} was stopped, and with it the study.`,
        'Resume the study.',
      )
    return step < until
  }

  /** A trial whose settings do not work loses; what would end every trial ends the study. */
  #fail(trial: number, until: number, error: ErrorEnvelope): void {
    const isOfTrial = error.code !== null && ofSettings.some((area) => error.code?.startsWith(area) === true)
    if (!isOfTrial) throw failureOf(error, this.#runs.get(trial) ?? '')
    this.#add({ trial, step: until, fitness: null, tokens: 0, seconds: 0, error: error.message })
  }

  #conclude(trial: number, until: number): void {
    const { store, history } = this.#parts
    const run = store.runs.get(this.#runs.get(trial) ?? '')
    history.ingest(run)
    if (history.problem !== null) throw history.problem
    const before = this.#results.filter((each) => each.trial === trial).map(({ step }) => step)
    const from = Math.max(0, run.parentCheckpointStep ?? 0, ...before)
    const { fitness } = this.#study.config.search
    const value = fitnessOf(store, run.id, until, fitness)
    const spent = spentBetween(store, run.id, from, until)
    const error = `There is no value of ${fitness.metric} at step ${until}.`
    this.#add({ trial, step: until, fitness: value, ...spent, ...(value === null ? { error } : {}) })
  }

  #add(found: TrialResult): void {
    logResult(this.#study.directory, found)
    this.#results.push(found)
    this.#parts.notifier.notify()
  }
}

/** Codes of errors that come from what a trial is: its settings or its numbers. */
const ofSettings = ['run/unsound', 'run/diverged', 'run/destroyed', 'config/', 'loss/', 'reward/', 'data/']

const holderPollMs = 250

const failureOf = (error: ErrorEnvelope | null, runId: string): AppError =>
  new AppError(
    error?.code ?? 'runtime/failed',
    `The run ${runId} ended: ${error?.message ?? 'its process died.'}`,
    'What was done is kept. Resume the study to go on.',
  )

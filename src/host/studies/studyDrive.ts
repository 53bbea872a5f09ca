/** Drives one study while this process runs it. The next trials are computed again from the log after every result. */
import { setTimeout } from 'node:timers/promises'
import { isEqual } from '#shared/config/paths.ts'
import { AppError, refusal } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { RunRecord } from '#shared/runs.ts'
import type { StudyPlan, Trial, TrialResult } from '#shared/studies.ts'
import { planStudy } from '#rl/studies/plan.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import type { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { ErrorEnvelope } from '#host/processes/messages.ts'
import {
  createRunFolder,
  isRunFolder,
  newRunId,
  readOwnConfig,
  readScriptReference,
  type RunFolder,
  type TrialRun,
} from '#host/workFolder/runFolder.ts'
import { isOwnWork, sealWork } from '#host/runs/ownWork.ts'
import { changedSince, workHolder } from '#host/workFolder/workFolder.ts'
import { changesOfRun } from '#host/runs/settingChanges.ts'
import type { RunHistory } from '#host/runs/runHistory.ts'
import { checkpointDirectory, resolveResume } from '#host/runs/runTarget.ts'
import type { Supervisor, WorkerEnding } from '#host/runs/supervisor.ts'
import type { Store } from '#host/store/store.ts'
import { subjectOf, trialConfig } from './studyConfig.ts'
import { logResult, logTrial, readStudyLog, type StudyFolder } from '#host/workFolder/studyFolder.ts'
import { fitnessOf, spentBetween } from './trialMetrics.ts'

export interface DriveParts {
  readonly dataDirectory: string
  readonly store: Store
  readonly history: RunHistory
  readonly supervisor: Supervisor
  readonly notifier: ChangeNotifier
  /** Makes the folder of a clone (runs/runLifecycle.ts). */
  readonly fork: (request: CloneRequest) => RunFolder
}

export interface CloneRequest {
  readonly dataDirectory: string
  /** Folder of the parent's checkpoint. */
  readonly checkpoint: string
  readonly changes: Readonly<Record<string, unknown>>
  readonly baseDirectory: string
  readonly trial: TrialRun
}

/** A process that dies without a word is started again so often before the study gives up. */
const attempts = 3

export class StudyDrive {
  readonly #study: StudyFolder
  readonly #parts: DriveParts
  readonly #stopping: AbortSignal
  readonly #runs: Map<number, string>
  readonly #results: TrialResult[]
  readonly #training = new Map<number, Promise<void>>()
  readonly #failures: unknown[] = []

  constructor(study: StudyFolder, parts: DriveParts, stopping: AbortSignal) {
    this.#study = study
    this.#parts = parts
    this.#stopping = stopping
    const { runs, results } = readStudyLog(study.directory)
    this.#runs = new Map(runs)
    this.#results = [...results]
  }

  /**
   * Runs the study; returns true if it is over, false if it was stopped. Errors: what ended a trial and is no fault of
   * its settings.
   */
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

  /**
   * Begins trials: all have their runs before any of them trains, since clones of a member that trains on begin at its
   * present checkpoint.
   */
  #begin({ pending, trials }: StudyPlan): void {
    for (const { trial } of pending) {
      this.#ensureRun(trials, trial)
      this.#requireOwnRun(trials, trial)
    }
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
    const { dataDirectory, store, history, fork } = this.#parts
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
    const folder = entryOf(dataFolders(dataDirectory).runs, runId)
    if (isRunFolder(folder)) {
      history.adoptRun(runId)
      return
    }
    const own = { runId, study: { studyId, trial: index } }
    const settings = trialConfig(config, trial)
    if (trial.parent === null)
      history.add(createRunFolder(dataDirectory, parseRunConfig(settings), { trial: own }))
    else {
      const parent = this.#runOf(trial.parent.index)
      const checkpoint = checkpointDirectory(parent, trial.parent.step)
      const changes = { ...trial.settings, name: settings['name'] }
      history.add(fork({ dataDirectory, checkpoint, changes, baseDirectory: dataDirectory, trial: own }))
    }
    // A clone has copies of its parent's checkpoint and code.
    sealWork(folder, dataDirectory)
    this.#parts.notifier.notify()
  }

  /** Refuses a run that was put in the place of a trial's: it would train with settings of its own. Errors: AppError 'api/refused'. */
  #requireOwnRun(trials: readonly Trial[], index: number): void {
    const { id, directory } = this.#runOf(index)
    const own = parseRunConfig(readOwnConfig(directory))
    const isOwn = isEqual(own, parseRunConfig(trialConfig(this.#study.config, trials[index])))
    // Neither has a study's run.
    const isChanged = changesOfRun(directory).length > 0 || readScriptReference(directory) !== null
    if (isOwn && !isChanged) return
    throw refusal(
      `The run ${id} has other settings than the study has for its trial ${index + 1}.`,
      'It was changed, or is another run. Delete it, and the study trains a new one when it is resumed.',
    )
  }

  async #train(trial: number, until: number): Promise<void> {
    const { dataDirectory, supervisor, notifier } = this.#parts
    const run = this.#runOf(trial)
    await this.#released(run.directory)
    let [attempt, reached] = [0, -1]
    while (!this.#stopping.aborted) {
      const { checkpoint } = resolveResume(dataDirectory, run.id)
      if (!isOwnWork(run.directory, dataDirectory)) throw changedSince(`The run ${run.id}`)
      const { step, directory } = checkpoint ?? { step: 0, directory: null }
      if (step >= until) {
        this.#conclude(trial, until)
        return
      }
      // One that got further has not been tried in vain.
      attempt = step > reached ? 1 : attempt + 1
      reached = step
      const ended = supervisor.start(run, { resumeFrom: directory, until })
      notifier.notify()
      if (this.#takeEnding(await ended, { trial, until, isLast: attempt >= attempts })) return
    }
  }

  /** Resolves when the process of a host that died has finished its step. */
  async #released(directory: string): Promise<void> {
    while (workHolder(directory) !== null && !this.#stopping.aborted) await setTimeout(holderPollMs)
  }

  #runOf(trial: number): RunRecord {
    return this.#parts.store.runs.get(this.#runs.get(trial) ?? '')
  }

  /** Handles the end of a trial; returns true if nothing more is to be done now. */
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
    const run = this.#runOf(trial)
    history.ingest(run)
    if (history.problem !== null) throw history.problem
    const before = this.#results.filter((each) => each.trial === trial).map(({ step }) => step)
    const from = Math.max(0, run.parentCheckpointStep ?? 0, ...before)
    const { fitness } = this.#study.config.search
    const value = fitnessOf(store, run.id, until, fitness)
    const spent = spentBetween(store, run, from, until)
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

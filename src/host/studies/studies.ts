/**
 * The studies of a host. Reading guide of this folder:
 *
 *   studies.ts      (here) started, stopped, resumed, listed
 *   studyDrive.ts   one study while it runs: trains the trials that `planStudy` names, and logs what they come to
 *   studyFile.ts    reads the file of a person; studyConfig.ts checks it; `workFolder/studyFolder.ts` is a study on disk
 *   studyEstimate.ts hours, memory and disk before it starts; sharing.ts how many trials train together
 *   trialMetrics.ts what the history says of a trial
 */
import path from 'node:path'
import type { StudyEntry, StudyImportance, StudyTrial, UnreadableStudy } from '#shared/api/studies.ts'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { importanceOf } from '#rl/studies/importance.ts'
import { planStudy, stepsOf, wavesOf } from '#rl/studies/plan.ts'
import { resultsByTrial } from '#rl/studies/trials.ts'
import { stampOf } from '#host/store/feeds.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { guarded, type OnFault } from '#host/faults.ts'
import { packFailure } from '#host/processes/messages.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import type { Calibrating } from '#host/jobs/calibration.ts'
import { requireGates } from '#host/code/rewardVersions.ts'
import { coresAllow, sharingOf } from './sharing.ts'
import { checkStudy, subjectOf, type StudyVerdict } from './studyConfig.ts'
import { StudyDrive, type DriveParts } from './studyDrive.ts'
import { estimateStudy, type CalibrationItem } from './studyEstimate.ts'
import { changedSince, workHolder } from '#host/workFolder/workFolder.ts'
import { sealWork } from '#host/runs/ownWork.ts'
import { LongWork } from '#host/workFolder/longWork.ts'
import {
  createStudyFolder,
  openStudyFolder,
  readStudyLog,
  repairStudyLog,
  setStudyState,
  studyDirectories,
  studyDigest,
  studyDirectory,
  studyStamp,
  studyState,
  type StudyFolder,
  type StudyLog,
  type StudyState,
} from '#host/workFolder/studyFolder.ts'

interface StudyParts extends DriveParts, Calibrating {
  readonly askText: AskText
  readonly onFault: OnFault
}

/** Setting that holds the seal of the study as it began here, until it has ended: only that goes on by itself. */
const drivenKey = (id: string): string => `${drivenKeys}${id}`
const drivenKeys = 'host.study.'

export class Studies implements AsyncDisposable {
  readonly #parts: StudyParts
  readonly #work: LongWork
  readonly #known = new Map<string, { readonly stamp: string; readonly entry: StudyEntry }>()
  /** Number of trials that train together, by file, as was measured. */
  readonly #shared = new Map<string, number>()
  readonly #closing = new AbortController()

  constructor(parts: StudyParts) {
    this.#parts = parts
    const folder = (id: string) => this.#directoryOf(id)
    this.#work = new LongWork({
      noun: 'study',
      inTurn: false,
      folder,
      onFault: parts.onFault,
      state: (id) => studyState(folder(id)),
      setState: (id, state) => this.#setState(id, state),
      perform: (id, stopping) => this.#toItsEnd(this.#open(id), stopping),
      forget: (id) => {
        this.#known.delete(id)
        parts.store.settings.set(drivenKey(id), undefined)
      },
      notify: () => parts.notifier.notify(),
    })
  }

  /** Errors: those of `checkStudy`; AppError 'reward/failed'. */
  async check(given: unknown, base: string): Promise<StudyVerdict> {
    const { dataDirectory, askText } = this.#parts
    const verdict = await checkStudy(given, { dataDirectory, base, askText })
    await requireGates(this.#parts, verdict.first.config)
    return verdict
  }

  /** Errors: those of `check`, and as training. */
  async *calibrate(given: unknown, base: string, signal: AbortSignal): AsyncGenerator<CalibrationItem> {
    const verdict = await this.check(given, base)
    for await (const item of estimateStudy(this.#parts, verdict, signal)) {
      if ('result' in item) this.#shared.set(JSON.stringify(verdict.file), item.result.parallel)
      yield item
    }
  }

  /** Errors: those of `check`; AppError 'file/unwritable'; as training where memory decides how many trials train together. */
  async start(given: unknown, base: string): Promise<StudyEntry> {
    const { dataDirectory } = this.#parts
    const { file, steps, start, sharing } = await this.check(given, base)
    const key = JSON.stringify(file)
    const isMemoryNeeded = sharing.given === null && coresAllow(sharing) > 1
    if (isMemoryNeeded && !this.#shared.has(key))
      for await (const _ of this.calibrate(given, base, this.#closing.signal));
    const parallel = isMemoryNeeded ? (this.#shared.get(key) ?? 1) : sharingOf(sharing).parallel
    const study = createStudyFolder(dataDirectory, { file, steps, start, parallel })
    this.#work.begin(study.id)
    return this.get(study.id)
  }

  /** Continues where it stopped. Errors: AppError 'run/not-found', 'run/busy', 'api/refused' where it is finished. */
  resume(id: string): void {
    const { directory } = this.#open(id)
    // The person resumes it as it is now.
    if (workHolder(directory) === null) {
      this.#sealRuns(directory)
      this.#parts.store.settings.set(drivenKey(id), undefined)
    }
    this.#work.resume(id)
  }

  /** Trials stop after their current step, with a checkpoint; resolves when they have. Errors: AppError 'run/not-found', 'run/busy' where another process runs it. */
  async stop(id: string): Promise<void> {
    this.#work.stop(id)
    await this.#work.over(id)
  }

  /**
   * Deletes a study. Its runs stay, as runs of their own; a damaged one can go too. Errors: AppError 'run/not-found',
   * 'run/busy', 'file/unwritable'.
   */
  remove(id: string): void {
    this.#work.remove(id)
  }

  /** The newest first. */
  list(): { readonly studies: StudyEntry[]; readonly unreadable: UnreadableStudy[] } {
    const [found, unreadable]: [StudyEntry[], UnreadableStudy[]] = [[], []]
    for (const directory of studyDirectories(this.#parts.dataDirectory)) {
      try {
        found.push(this.#entryOf(directory))
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown
        unreadable.push({ id: path.basename(directory), directory, error: packFailure(thrown) })
      }
    }
    return { studies: found, unreadable }
  }

  /** Changes with what `list` says; cheaper. */
  stamp(): string {
    const stamps = studyDirectories(this.#parts.dataDirectory).map((directory) => [
      ...[directory, studyStamp(directory), workHolder(directory)],
    ])
    return stampOf(stamps)
  }

  /** Errors: AppError 'run/not-found', 'file/unreadable', 'data/invalid'. */
  get(id: string): StudyEntry {
    return this.#entryOf(this.#open(id).directory)
  }

  /** Errors: those of `get`. */
  importance(id: string): StudyImportance {
    const { search, start, trials } = this.get(id)
    return importanceOf({ search, start, trials, results: trials.flatMap(({ results }) => results) })
  }

  /** Resolves when this host no longer runs it. */
  async ended(id: string): Promise<StudyEntry> {
    await this.#work.over(id)
    return this.get(id)
  }

  /** Takes up what a host before this one had to leave. `also`: those whose host was killed. */
  takeUpWaiting(also: boolean): void {
    const ids = this.#left(also).map((directory) => path.basename(directory))
    this.#work.takeUp(ids, (id) => this.#isAsLeft(id))
  }

  /** Lets those that `takeUpWaiting` takes up go on as they are now, and forgets what a history from elsewhere says of others. */
  keepAsTheyAre(also: boolean): void {
    const { settings } = this.#parts.store
    const kept = this.#left(also).map((directory) => path.basename(directory))
    for (const key of settings.all().keys()) if (key.startsWith(drivenKeys)) settings.set(key, undefined)
    for (const id of kept) {
      this.#sealRuns(this.#directoryOf(id))
      settings.set(drivenKey(id), ownSeal(...this.#contentOf(id)))
    }
  }

  /** Lets the runs of its trials go on as they are now. */
  #sealRuns(directory: string): void {
    const { dataDirectory, store } = this.#parts
    for (const runId of attempt(() => [...readStudyLog(directory).runs.values()], [])) {
      const run = store.runs.find(runId)
      // One that cannot be read fails when its turn comes.
      if (run !== null) attempt(() => sealWork(run.directory, dataDirectory), undefined)
    }
  }

  /**
   * True if any is unfinished, also one that a process seems to be at, since the folder may say so falsely, and one of which
   * nothing can be read yet.
   */
  get isAnyUnfinished(): boolean {
    const isOver = (directory: string) => {
      const { status } = attempt(() => studyState(directory), { status: null })
      return status === 'stopped' || status === 'failed' || status === 'finished'
    }
    return !this.#driven().every(isOver)
  }

  /** Stops; what is not done waits for the next host. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#work[Symbol.asyncDispose]()
  }

  #left(also: boolean): string[] {
    const found: string[] = []
    const look = (directory: string) => {
      const { status } = studyState(directory)
      if (status === 'waiting' || (also && status === 'interrupted')) found.push(directory)
    }
    for (const directory of this.#driven()) guarded('a study', this.#parts.onFault, () => look(directory))()
    return found
  }

  /** Studies that the history knows, the oldest first: a folder that somebody put there says nothing of itself. */
  #driven(): string[] {
    const { dataDirectory, store } = this.#parts
    const isKnown = (directory: string) =>
      store.settings.get(drivenKey(path.basename(directory))) !== undefined
    return studyDirectories(dataDirectory).toReversed().filter(isKnown)
  }

  /** One that is not stops, with the reason. Errors: AppError 'file/unreadable' for one that is damaged. */
  #isAsLeft(id: string): boolean {
    const { directory } = this.#open(id)
    if (isOwnSeal(this.#parts.store.settings.get(drivenKey(id)), ...this.#contentOf(id))) return true
    if (workHolder(directory) === null)
      this.#setState(id, { status: 'stopped', error: packFailure(changedSince('This study')) })
    return false
  }

  #setState(id: string, state: StudyState): void {
    const { settings } = this.#parts.store
    const directory = this.#directoryOf(id)
    if (state.status !== 'running' && state.status !== 'waiting') settings.set(drivenKey(id), undefined)
    // What it began with stays: its file may be exchanged while it goes on.
    else if (settings.get(drivenKey(id)) === undefined)
      settings.set(drivenKey(id), ownSeal(...this.#contentOf(id)))
    setStudyState(directory, state)
  }

  /** Returns the content of the seal of a study, and for what it counts. */
  #contentOf(id: string) {
    const { dataDirectory } = this.#parts
    return [dataDirectory, drivenKey(id), studyDigest(this.#directoryOf(id))] as const
  }

  #open(id: string): StudyFolder {
    return openStudyFolder(this.#directoryOf(id))
  }

  #directoryOf(id: string): string {
    const directory = studyDirectory(this.#parts.dataDirectory, id)
    if (studyDirectories(this.#parts.dataDirectory).includes(directory)) return directory
    throw new AppError('run/not-found', 'There is no such study.', {
      text: 'It may have been deleted.',
      command: '`turnwise studies list` shows those there are.',
    })
  }

  async #toItsEnd(study: StudyFolder, stopping: AbortSignal): Promise<boolean> {
    repairStudyLog(study.directory)
    return await new StudyDrive(study, this.#parts, stopping).run()
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
  const { id, createdAt, steps, parallel, start, config, file } = study
  const subject = subjectOf(study)
  const plan = planStudy(subject, results)
  const { best } = plan
  const byTrial = resultsByTrial(results)
  const trials = plan.trials.map((trial) => ({
    ...trial,
    runId: runs.get(trial.index) ?? null,
    results: byTrial.get(trial.index) ?? [],
  }))
  const trained = trainedBy(trials)
  return {
    id,
    createdAt,
    steps,
    parallel,
    start,
    status,
    error,
    file,
    trials,
    trained,
    name: config.name,
    search: config.search,
    plannedSteps: plan.isOver ? trained.steps : stepsOf(wavesOf(subject)),
    pending: plan.pending,
    best: best === null ? null : { ...best, runId: runs.get(best.trial) ?? null },
  }
}

function trainedBy(trials: readonly StudyTrial[]): StudyEntry['trained'] {
  const results = trials.flatMap((trial) => trial.results)
  const steps = trials.map(
    (trial) => Math.max(0, ...trial.results.map(({ step }) => step)) - (trial.parent?.step ?? 0),
  )
  return {
    steps: sum(steps.map((own) => Math.max(0, own))),
    tokens: sum(results.map(({ tokens }) => tokens)),
    seconds: sum(results.map(({ seconds }) => seconds)),
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

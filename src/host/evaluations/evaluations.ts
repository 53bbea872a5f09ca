/** Evaluations of a host: computed one after the other, each in a process of its own; every answer is kept as it comes. */
import { existsSync } from 'node:fs'
import type { EvaluationEntry, EvaluationRequest } from '#shared/api/evaluations.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { moved } from '#host/files/movedPaths.ts'
import { guarded, type OnFault } from '#host/faults.ts'
import { evaluationJob, type EvaluationNews } from '#host/jobs/evaluationJob.ts'
import type { Ask } from '#host/processes/job.ts'
import { packFailure } from '#host/processes/messages.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { folderContent } from '#host/consents/seals.ts'
import type { EvaluationRecord } from '#host/store/evaluations.ts'
import type { Store } from '#host/store/store.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { changedSince, workHolder } from '#host/workFolder/workFolder.ts'
import { LongWork, type WorkState } from '#host/workFolder/longWork.ts'
import { addAnswer, readAnswers, repairAnswers, type Answers } from './answers.ts'
import {
  evaluatedRows,
  evaluationFolder,
  prepareEvaluation,
  runSections,
  type EvaluatedRows,
  type EvaluationConfig,
  type EvaluationPlace,
} from './prepareEvaluation.ts'
import { summarize } from './summary.ts'

export interface EvaluationsOptions {
  readonly dataDirectory: string
  readonly store: Store
  readonly ask: Ask
  readonly notifier: ChangeNotifier
  readonly onFault: OnFault
}

/** Setting that holds the seal of an evaluation as it was left here, until it has ended: only that goes on by itself. */
const sealKey = (id: string): string => `host.evaluation.${id}`

export class Evaluations implements AsyncDisposable {
  readonly #options: EvaluationsOptions
  readonly #work: LongWork

  constructor(options: EvaluationsOptions) {
    this.#options = options
    const { store, notifier, onFault } = options
    this.#work = new LongWork({
      noun: 'evaluation',
      inTurn: true,
      onFault,
      folder: (id) => this.folder(this.#record(id).id),
      state: (id) => this.#record(id),
      setState: (id, state) => this.#setState(id, state),
      perform: (id, stopping) => this.#compute(id, stopping),
      forget: (id) => {
        store.settings.set(sealKey(id), undefined)
        store.evaluations.remove(id)
      },
      notify: () => notifier.notify(),
    })
  }

  /** Errors: those of `prepareEvaluation`. */
  async start(request: EvaluationRequest, place: EvaluationPlace): Promise<EvaluationEntry> {
    const { store } = this.#options
    const made = await prepareEvaluation(this.#options, request, place)
    store.evaluations.add({ ...made, status: 'waiting', begunAt: null, begunDone: null })
    this.#seal(made.id)
    this.#work.begin(made.id)
    return this.get(made.id)
  }

  /** Continues with the remaining prompts. Errors: AppError 'run/not-found', 'run/busy' where it is running already. */
  resume(id: string): void {
    this.#seal(id)
    this.#work.resume(id)
  }

  /**
   * Stops it; finished prompts are kept. Errors: AppError 'run/not-found', 'run/busy' where another process computes
   * it.
   */
  stop(id: string): void {
    this.#work.stop(id)
  }

  /** Deletes an evaluation with its samples. Errors: AppError 'run/not-found', 'run/busy', 'file/unwritable'. */
  remove(id: string): void {
    this.#work.remove(id)
  }

  /** The newest first. */
  list(runId: string | null = null): EvaluationEntry[] {
    return this.#options.store.evaluations.list(runId).map((record) => entryOf(this.#settled(record)))
  }

  /** Errors: AppError 'run/not-found'. */
  get(id: string): EvaluationEntry {
    return entryOf(this.#record(id))
  }

  /**
   * Returns the config that the evaluations of a run's checkpoints begin with. Errors: AppError 'run/not-found',
   * 'file/unreadable'.
   */
  sectionsOf(runId: string): EvaluationConfig {
    return runSections(this.#options.store.runs.get(runId), null)
  }

  /** Returns the answers so far. Errors: AppError 'run/not-found', 'file/unreadable', 'data/invalid'. */
  answers(id: string): Answers {
    return readAnswers(this.folder(this.#record(id).id))
  }

  folder(id: string): string {
    return evaluationFolder(this.#options.dataDirectory, id)
  }

  /** Takes up what a host before this one had to leave waiting. */
  takeUpWaiting(): void {
    this.#work.takeUp(this.#left().toReversed(), (id) => this.#isAsLeft(id))
  }

  /** Lets those that wait go on as they are now. */
  keepAsTheyAre(): void {
    for (const id of this.#waiting()) this.#seal(id)
  }

  /** True if any is unfinished, also one that a process seems to be at: the folder may say so falsely. */
  get isAnyUnfinished(): boolean {
    return this.#waiting().length > 0
  }

  /** Stops; unfinished evaluations wait for the next host, and what is done is kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work[Symbol.asyncDispose]()
  }

  #left(): string[] {
    return this.#waiting().filter((id) => workHolder(this.folder(id)) === null)
  }

  #waiting(): string[] {
    const all = this.#options.store.evaluations.list()
    return all.filter(({ status }) => status === 'waiting').map(({ id }) => id)
  }

  #seal(id: string): void {
    this.#options.store.settings.set(sealKey(id), ownSeal(...this.#contentOf(id)))
  }

  /** One that is not stops, with the reason. */
  #isAsLeft(id: string): boolean {
    if (isOwnSeal(this.#options.store.settings.get(sealKey(id)), ...this.#contentOf(id))) return true
    this.#setState(id, { status: 'stopped', error: packFailure(changedSince('This evaluation')) })
    return false
  }

  /** Returns the content of the seal of an evaluation, and for what it counts. */
  #contentOf(id: string) {
    const { model, adapter, config, samples, greedy, limit } = this.#record(id)
    const { dataDirectory } = this.#options
    // The directory may be moved; nothing that a person can name lies in what stands for it.
    const what = moved({ model, adapter, config, samples, greedy, limit }, dataDirectory, '\0')
    const { rewards } = runPaths(this.folder(id))
    return [dataDirectory, sealKey(id), [what, existsSync(rewards) ? folderContent(rewards) : []]] as const
  }

  async #compute(id: string, stopping: AbortSignal): Promise<boolean> {
    repairAnswers(this.folder(id))
    const before = this.answers(id)
    const done = before.prompts.length + before.problems.length
    this.#set(id, { begunAt: Date.now(), begunDone: done, done })
    await this.#answer(this.#record(id), before, stopping)
    return !stopping.aborted
  }

  async #answer(record: EvaluationRecord, before: Answers, signal: AbortSignal): Promise<void> {
    const { dataDirectory, ask } = this.#options
    const { id, model, adapter, samples, greedy, limit } = record
    const config = parseRunConfig(record.config)
    const data = await evaluatedRows(config, limit)
    requireSameRows(data, before)
    const known = new Set([...before.prompts, ...before.problems].map(({ row }) => row))
    const rows = data.rows.filter(({ row }) => !known.has(data.places[row] ?? row))
    if (rows.length === 0) return
    const input = {
      config,
      directory: this.folder(id),
      rows,
      samples,
      greedy,
      places: data.places,
      candidate: { directory: model, adapter, contextLength: config.contextLength },
      cacheDirectory: dataFolders(dataDirectory).cache,
      consents: consentsFile(dataDirectory),
    }
    const keeper = new Keeper(this.folder(id), data, known.size, (done) => this.#set(id, { done }))
    for await (const news of ask(evaluationJob, input, signal)) keeper.take(news)
  }

  /** Records the state, with a summary where it does not go on. */
  #setState(id: string, { status, error }: WorkState): void {
    const { store } = this.#options
    if (status === 'waiting' || status === 'running') {
      store.evaluations.set(id, { status, error, endedAt: null, summary: null })
      return
    }
    store.settings.set(sealKey(id), undefined)
    const answers = readAnswers(this.folder(id))
    store.evaluations.set(id, {
      status,
      error,
      endedAt: Date.now(),
      done: answers.prompts.length + answers.problems.length,
      summary: answers.prompts.length === 0 ? null : summarize(answers, this.#record(id)),
    })
  }

  #set(id: string, changes: Partial<EvaluationRecord>): void {
    this.#options.store.evaluations.set(id, changes)
    this.#options.notifier.notify()
  }

  #record(id: string): EvaluationRecord {
    const record = this.#options.store.evaluations.find(id)
    if (record !== null) return this.#settled(record)
    throw new AppError('run/not-found', 'There is no such evaluation.', {
      text: 'It may have been deleted.',
      command: '`turnwise evaluations list` shows those there are.',
    })
  }

  /** One whose process died is interrupted: what it had answered is summed up. */
  #settled(record: EvaluationRecord): EvaluationRecord {
    const { id, status } = record
    if (status !== 'running' || this.#work.has(id) || workHolder(this.folder(id)) !== null) return record
    guarded('an evaluation', this.#options.onFault, () => {
      repairAnswers(this.folder(id))
      this.#options.store.evaluations.set(id, { status: 'interrupted' })
      this.#setState(id, { status: 'interrupted', error: null })
    })()
    return this.#options.store.evaluations.find(id) ?? record
  }
}

/** Refuses to continue with other rows than the evaluation began with. Errors: AppError 'data/invalid'. */
function requireSameRows({ rows, places }: EvaluatedRows, { prompts }: Answers): void {
  const now = new Map(rows.map(({ row, columns }) => [places[row] ?? row, JSON.stringify(columns)]))
  if (prompts.every(({ row, columns }) => now.get(row) === JSON.stringify(columns))) return
  throw invalidData(
    'The data changed since this evaluation began, so it cannot be resumed.',
    'Its results so far are kept. Start a new evaluation on the current data.',
  )
}

/** Shortest interval between updates of the number done in the history. */
const tellEveryMs = 500

/** Writes down what comes, each with the columns of its row. */
class Keeper {
  readonly #directory: string
  readonly #columns: ReadonlyMap<number, Readonly<Record<string, unknown>>>
  readonly #tell: (done: number) => void
  #done: number
  #toldAt = 0

  constructor(
    directory: string,
    { rows, places }: EvaluatedRows,
    done: number,
    tell: (done: number) => void,
  ) {
    this.#directory = directory
    this.#columns = new Map(rows.map(({ row, columns }) => [places[row] ?? row, columns]))
    this.#done = done
    this.#tell = tell
  }

  take(news: EvaluationNews): void {
    if ('progress' in news) return
    if ('problem' in news) addAnswer(this.#directory, news)
    else addAnswer(this.#directory, { ...news, columns: this.#columns.get(news.row) ?? {} })
    this.#done++
    if (Date.now() - this.#toldAt < tellEveryMs) return
    this.#toldAt = Date.now()
    this.#tell(this.#done)
  }
}

function entryOf({ begunAt, begunDone, ...record }: EvaluationRecord): EvaluationEntry {
  const { status, done, total } = record
  const sinceBegun = done - (begunDone ?? 0)
  const isKnown = status === 'running' && begunAt !== null && sinceBegun > 0
  const pace = isKnown ? (Date.now() - begunAt) / 1000 / sinceBegun : null
  return { ...record, secondsLeft: pace === null ? null : pace * (total - done) }
}

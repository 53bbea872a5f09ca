/** Evaluations of a host: computed one after the other, each in a process of its own; every answer is kept as it comes. */
import { rmSync } from 'node:fs'
import type { EvaluationEntry, EvaluationRequest } from '#shared/api/evaluations.ts'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { guarded, type OnFault } from '#host/faults.ts'
import { writeError } from '#host/files/fileErrors.ts'
import { livingProcess, ownerMark } from '#host/files/living.ts'
import { packError } from '#host/processes/messages.ts'
import { evaluationJob, type EvaluationNews } from '#host/jobs/evaluationJob.ts'
import type { Ask } from '#host/processes/job.ts'
import { consentsFile } from '#host/consents/consents.ts'
import type { EvaluationRecord } from '#host/store/evaluations.ts'
import type { Store } from '#host/store/store.ts'
import { addAnswer, dropTornLine, readAnswers, type Answers } from './answers.ts'
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

interface Job {
  readonly id: string
  readonly stopping: AbortController
}

export class Evaluations implements AsyncDisposable {
  readonly #options: EvaluationsOptions
  /** The first is computed. */
  #jobs: readonly Job[] = []
  #working: Promise<void> | null = null
  #isClosing = false
  readonly #mark = ownerMark()

  constructor(options: EvaluationsOptions) {
    this.#options = options
  }

  /** Errors: those of `prepareEvaluation`. */
  async start(request: EvaluationRequest, place: EvaluationPlace): Promise<EvaluationEntry> {
    const { store } = this.#options
    const made = await prepareEvaluation(this.#options, request, place)
    store.evaluations.add({ ...made, status: 'waiting', owner: this.#mark, begunAt: null, begunDone: null })
    this.#enqueue(made.id)
    return this.get(made.id)
  }

  /** Continues with the remaining prompts. Errors: AppError 'run/not-found', 'run/busy' where it is running already. */
  resume(id: string): void {
    const record = this.#record(id)
    if (this.#isAtWork(record)) throw new AppError('run/busy', 'This evaluation is already running.')
    if (record.status === 'finished') throw new AppError('api/refused', 'This evaluation is finished.')
    this.#set(id, { status: 'waiting', owner: this.#mark, endedAt: null, error: null, summary: null })
    this.#enqueue(id)
  }

  /**
   * Stops it; finished prompts are kept. Errors: AppError 'run/not-found', 'run/busy' where another process computes
   * it.
   */
  stop(id: string): void {
    const job = this.#jobs.find((each) => each.id === id)
    if (job !== undefined) {
      job.stopping.abort()
      if (this.#jobs[0] !== job) this.#end(id, 'stopped')
      this.#jobs = this.#jobs.filter((each) => each !== job || each === this.#jobs[0])
      return
    }
    const record = this.#record(id)
    if (this.#isAtWork(record)) throw elsewhere()
    if (record.status === 'waiting') this.#end(id, 'stopped')
  }

  /** Deletes an evaluation with its samples. Errors: AppError 'run/not-found', 'run/busy', 'file/unwritable'. */
  remove(id: string): void {
    if (this.#isAtWork(this.#record(id))) {
      throw new AppError(
        'run/busy',
        'This evaluation is still running, so it cannot be deleted.',
        'Stop it first.',
      )
    }
    const directory = this.folder(id)
    try {
      rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      throw writeError(directory, error)
    }
    this.#options.store.evaluations.remove(id)
    this.#options.notifier.notify()
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

  /** Returns true if this host computes the evaluation, or will. */
  isHere(id: string): boolean {
    return this.#jobs.some((job) => job.id === id)
  }

  /** Takes up what a host before this one had to leave waiting. */
  takeUpWaiting(): void {
    for (const { id } of this.#left().toReversed()) {
      this.#set(id, { owner: this.#mark })
      this.#enqueue(id)
    }
  }

  /** True if `takeUpWaiting` would take up any. */
  get isAnyLeft(): boolean {
    return this.#left().length > 0
  }

  /** Stops; unfinished evaluations wait for the next host, and what is done is kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    for (const { id, stopping } of this.#jobs) {
      stopping.abort()
      this.#set(id, { status: 'waiting', owner: null })
    }
    this.#jobs = this.#jobs.slice(0, 1)
    await this.#working
  }

  #left(): EvaluationRecord[] {
    return this.#options.store.evaluations
      .list()
      .filter(
        ({ status, owner }) => status === 'waiting' && (owner === null || livingProcess(owner) === null),
      )
  }

  #enqueue(id: string): void {
    this.#jobs = [...this.#jobs, { id, stopping: new AbortController() }]
    this.#working ??= this.#work()
    this.#options.notifier.notify()
  }

  async #work(): Promise<void> {
    for (let job = this.#jobs[0]; job !== undefined && !this.#isClosing; job = this.#jobs[0]) {
      await this.#compute(job)
      this.#jobs = this.#jobs.slice(1)
      guarded('evaluations', this.#options.onFault, () => this.#options.notifier.notify())()
    }
    this.#working = null
  }

  async #compute({ id, stopping }: Job): Promise<void> {
    try {
      const record = this.#record(id)
      dropTornLine(this.folder(id))
      const before = this.answers(id)
      const done = before.prompts.length + before.problems.length
      this.#set(id, { status: 'running', begunAt: Date.now(), begunDone: done, done })
      await this.#answer(record, before, stopping.signal)
      if (this.#isClosing) return
      this.#end(id, stopping.signal.aborted ? 'stopped' : 'finished')
    } catch (error) {
      if (this.#isClosing) return
      const { code, message, hint = null } = packError(error)
      guarded('an evaluation', this.#options.onFault, () =>
        this.#end(id, 'failed', { error: { code, message, hint } }),
      )()
    }
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
      ...{ config, directory: this.folder(id), rows, samples, greedy },
      places: data.places,
      candidate: { directory: model, adapter, contextLength: config.contextLength },
      cacheDirectory: dataFolders(dataDirectory).cache,
      consents: consentsFile(dataDirectory),
    }
    const keeper = new Keeper(this.folder(id), data, known.size, (done) => this.#set(id, { done }))
    for await (const news of ask(evaluationJob, input, signal)) keeper.take(news)
  }

  /** Returns true if some process computes it, or will; one that waits for the next host does not count. */
  #isAtWork({ id, status, owner }: EvaluationRecord): boolean {
    if (status !== 'waiting' && status !== 'running') return false
    return this.isHere(id) || (owner !== null && livingProcess(owner) !== null)
  }

  #end(id: string, status: EvaluationRecord['status'], more: Partial<EvaluationRecord> = {}): void {
    const answers = readAnswers(this.folder(id))
    const record = this.#record(id)
    this.#set(id, {
      ...{ status, endedAt: Date.now(), owner: null, ...more },
      done: answers.prompts.length + answers.problems.length,
      summary: answers.prompts.length === 0 ? null : summarize(answers, record),
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
    const { id, owner, status } = record
    const isLeft = status === 'running' && (owner === null || livingProcess(owner) === null)
    if (!isLeft || this.isHere(id)) return record
    guarded('an evaluation', this.#options.onFault, () => {
      dropTornLine(this.folder(id))
      this.#options.store.evaluations.set(id, { status: 'interrupted' })
      this.#end(id, 'interrupted')
    })()
    return this.#options.store.evaluations.find(id) ?? record
  }
}

/** Refuses to continue with other rows than the evaluation began with. Errors: AppError 'data/invalid'. */
function requireSameRows({ rows, places }: EvaluatedRows, { prompts }: Answers): void {
  const now = new Map(rows.map(({ row, columns }) => [places[row] ?? row, JSON.stringify(columns)]))
  if (prompts.every(({ row, columns }) => now.get(row) === JSON.stringify(columns))) return
  throw new AppError(
    'data/invalid',
    'The data changed since this evaluation began, so it cannot be resumed.',
    'Its results so far are kept. Start a new evaluation on the current data.',
  )
}

const elsewhere = (): AppError =>
  new AppError('run/busy', 'Another process is running this evaluation.', 'Stop it there.')

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

function entryOf({ owner: _, begunAt, begunDone, ...record }: EvaluationRecord): EvaluationEntry {
  const { status, done, total } = record
  const sinceBegun = done - (begunDone ?? 0)
  const isKnown = status === 'running' && begunAt !== null && sinceBegun > 0
  const pace = isKnown ? (Date.now() - begunAt) / 1000 / sinceBegun : null
  return { ...record, secondsLeft: pace === null ? null : pace * (total - done) }
}

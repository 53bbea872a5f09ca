/**
 * Long work of a host, such as studies and evaluations: begun, stopped, resumed, deleted, and taken up where the process
 * that did it is gone. What is left to do follows from the log in its folder alone, so that it may end at any moment.
 */
import type { StudyEntry } from '#shared/api/studies.ts'
import { AppError, refusal } from '#shared/errors.ts'
import { guarded, type OnFault } from '#host/faults.ts'
import { removeFolder } from '#host/files/atomic.ts'
import { packFailure } from '#host/processes/messages.ts'
import { lockWork, workHolder } from './workFolder.ts'

export type WorkState = Pick<StudyEntry, 'status' | 'error'>

export interface WorkOptions {
  /** Noun in messages, such as `study`. */
  readonly noun: string
  /** True: one after the other; false: all at the same time. */
  readonly inTurn: boolean
  /** Folder of one that exists, also if it is damaged. Errors: AppError 'run/not-found'. */
  readonly folder: (id: string) => string
  /** State as it is now; a process that died leaves `interrupted`. Errors: AppError 'run/not-found', 'file/unreadable'. */
  readonly state: (id: string) => WorkState
  readonly setState: (id: string, state: WorkState) => void
  /** Does what is left; resolves to true if it is over, to false if it was stopped. */
  readonly perform: (id: string, stopping: AbortSignal) => Promise<boolean>
  /** Forgets one whose folder is gone. */
  readonly forget: (id: string) => void
  readonly notify: () => void
  readonly onFault: OnFault
}

interface Work {
  readonly lock: Disposable
  readonly stopping: AbortController
  isBegun: boolean
  over: Promise<void>
}

export class LongWork implements AsyncDisposable {
  readonly #options: WorkOptions
  readonly #works = new Map<string, Work>()
  #isClosing = false

  constructor(options: WorkOptions) {
    this.#options = options
  }

  /** Returns true if this process does it, or will. */
  has(id: string): boolean {
    return this.#works.has(id)
  }

  /** Begins it, in its turn. Errors: AppError 'run/busy', 'file/unwritable'. */
  begin(id: string): void {
    const { inTurn, noun, folder } = this.#options
    if (this.has(id)) throw new AppError('run/busy', `This ${noun} is already running.`)
    const busy = (holder: number) =>
      new AppError('run/busy', `Process ${holder} is already running this ${noun}.`, 'Stop it there.')
    const before = inTurn ? [...this.#works.values()].at(-1)?.over : undefined
    const [stopping, over] = [new AbortController(), Promise.resolve()]
    const work: Work = { lock: lockWork(folder(id), busy), stopping, isBegun: false, over }
    this.#works.set(id, work)
    if (before !== undefined) this.#setSafely(id, { status: 'waiting', error: null })
    work.over = before === undefined ? this.#toItsEnd(id, work) : before.then(() => this.#toItsEnd(id, work))
  }

  /** Continues where it stopped. Errors: AppError 'run/not-found', 'run/busy', 'api/refused' where it is finished. */
  resume(id: string): void {
    const { status } = this.#options.state(id)
    if (status === 'finished') throw refusal(`This ${this.#options.noun} is finished.`)
    this.begin(id)
  }

  /** Stops it; what is done is kept. Errors: AppError 'run/not-found', 'run/busy' where another process does it. */
  stop(id: string): void {
    const { noun, state, folder } = this.#options
    const stopped = { status: 'stopped', error: null } as const
    const work = this.#works.get(id)
    work?.stopping.abort()
    if (work !== undefined) {
      if (!work.isBegun) this.#end(id, work, stopped)
      return
    }
    const { status } = state(id)
    if (workHolder(folder(id)) !== null)
      throw new AppError('run/busy', `Another process is running this ${noun}.`, 'Stop it there.')
    if (status === 'waiting' || status === 'interrupted') this.#set(id, stopped)
  }

  /** Resolves when this process no longer does it. */
  async over(id: string): Promise<void> {
    await this.#works.get(id)?.over
  }

  /** Deletes it with its folder. Errors: AppError 'run/not-found', 'run/busy', 'file/unwritable'. */
  remove(id: string): void {
    const { noun, folder, forget, notify } = this.#options
    const directory = folder(id)
    if (workHolder(directory) !== null)
      throw new AppError('run/busy', `This ${noun} is running, so it cannot be deleted.`, 'Stop it first.')
    removeFolder(directory)
    forget(id)
    notify()
  }

  /** Takes up what is left and no process has; one that is damaged keeps no other from it. */
  takeUp(ids: readonly string[], isLeft: (id: string) => boolean): void {
    const { noun, onFault, folder } = this.#options
    const takeUp = (id: string) => {
      if (isLeft(id) && workHolder(folder(id)) === null) this.begin(id)
    }
    for (const id of ids) guarded(`a ${noun}`, onFault, () => takeUp(id))()
  }

  /** Stops; what is not done waits for the next host. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    const works = [...this.#works]
    for (const [id, { stopping }] of works) {
      stopping.abort()
      this.#setSafely(id, { status: 'waiting', error: null })
    }
    await Promise.all(works.map(([, { over }]) => over))
  }

  async #toItsEnd(id: string, work: Work): Promise<void> {
    // One that was stopped before its turn is over.
    if (this.#works.get(id) === work) this.#end(id, work, await this.#outcomeOf(id, work))
  }

  async #outcomeOf(id: string, work: Work): Promise<WorkState> {
    let error: WorkState['error'] = null
    try {
      if (!this.#isClosing) {
        work.isBegun = true
        this.#set(id, { status: 'running', error })
        if (await this.#options.perform(id, work.stopping.signal)) return { status: 'finished', error }
      }
    } catch (thrown) {
      error = packFailure(thrown)
    }
    if (this.#isClosing) return { status: 'waiting', error: null }
    return { status: error === null ? 'stopped' : 'failed', error }
  }

  #end(id: string, { lock }: Work, state: WorkState): void {
    this.#works.delete(id)
    this.#setSafely(id, state)
    lock[Symbol.dispose]()
    this.#options.notify()
  }

  #setSafely(id: string, state: WorkState): void {
    const { noun, onFault } = this.#options
    guarded(`a ${noun}`, onFault, () => this.#set(id, state))()
  }

  #set(id: string, state: WorkState): void {
    this.#options.setState(id, state)
    this.#options.notify()
  }
}

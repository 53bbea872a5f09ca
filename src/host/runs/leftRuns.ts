/**
 * Runs that were training when their host died. Their processes have finished a step, saved a checkpoint and exited; if
 * the setting says so, the next host that serves the queue resumes them.
 */
import { workHolder } from '#host/workFolder/workFolder.ts'
import type { Store } from '#host/store/store.ts'

/** Setting: true = go on by itself. */
const resumeKey = 'runs.resumeLeft'
/**
 * Setting with the runs in training, kept as they start and end: a run that it names when a host opens was left by a
 * host that died.
 */
const trainedKey = 'host.training'

export class LeftRuns {
  readonly #store: Store
  /** True if runs that were left go on by themselves. */
  readonly areResumed: boolean
  /** Ids not yet looked after: their processes may still be finishing a step. */
  #waiting: readonly string[]

  constructor(store: Store) {
    this.#store = store
    this.areResumed = store.settings.get(resumeKey) === true
    this.#waiting = this.areResumed ? idsOf(store.settings.get(trainedKey)) : []
  }

  /** True if a run that was left will be put into the queue. */
  get isAnyLeft(): boolean {
    return this.#waiting.length > 0
  }

  /** Stores the runs being trained; to be called whenever they change. */
  remember(trained: readonly string[]): void {
    const ids = [...new Set([...this.#waiting, ...trained])]
    if (ids.join() !== idsOf(this.#store.settings.get(trainedKey)).join()) {
      this.#store.settings.set(trainedKey, ids)
    }
  }

  /** Puts runs whose processes have ended into the queue; returns true if there were any. */
  queueEnded(): boolean {
    const ended = this.#waiting.filter((id) => {
      const run = this.#store.runs.find(id)
      return run === null || workHolder(run.directory) === null
    })
    this.#waiting = this.#waiting.filter((id) => !ended.includes(id))
    for (const id of ended) this.#queue(id)
    return ended.length > 0
  }

  #queue(id: string): void {
    const run = this.#store.runs.find(id)
    // The study of a trial knows how far it goes.
    if (run === null || run.studyId !== null) return
    const { status } = run
    // One that failed or was finished in between has nothing to go on with by itself.
    if (status !== 'stopped' && status !== 'interrupted') return
    this.#store.queue.push(id)
    this.#store.runs.setStatus(id, 'queued')
  }
}

const idsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []

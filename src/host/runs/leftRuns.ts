/**
 * Runs that were training when their host died. Their processes have finished a step, saved a checkpoint and exited; if
 * the setting says so, the next host that serves the queue resumes them.
 */
import { attempt } from '#shared/attempt.ts'
import { packFailure } from '#host/processes/messages.ts'
import { changedSince, workHolder } from '#host/workFolder/workFolder.ts'
import type { Store } from '#host/store/store.ts'
import { forgetSeal, isSealedRun, queueRun, sealRun } from './sealedRuns.ts'

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
  /** Runs in training, with the changes of their settings with which they were sealed last. */
  #sealed = new Map<string, string>()

  constructor(store: Store) {
    this.#store = store
    this.areResumed = store.settings.get(resumeKey) === true
    this.#waiting = this.areResumed ? idsOf(store.settings.get(trainedKey)) : []
  }

  /** True if a run that was left will be put into the queue. */
  get isAnyLeft(): boolean {
    return this.#waiting.length > 0
  }

  /** Ids of the runs that were left and are not yet looked after. */
  get waiting(): readonly string[] {
    return this.#waiting
  }

  /** Stores the runs being trained; to be called whenever they change. */
  remember(trained: readonly string[]): void {
    this.seal(trained)
    const ids = [...new Set([...this.#waiting, ...trained])]
    if (ids.join() !== idsOf(this.#store.settings.get(trainedKey)).join()) {
      this.#store.settings.set(trainedKey, ids)
    }
  }

  /** Lets runs in training go on as they are, with the settings that the person changed meanwhile; to be called when their logs have grown. */
  seal(trained: readonly string[]): void {
    const { runs } = this.#store
    const now = new Map(trained.map((id) => [id, JSON.stringify(runs.find(id)?.settingChanges)]))
    for (const [id, changes] of now) {
      // One that cannot be read fails by itself.
      if (changes !== this.#sealed.get(id)) attempt(() => sealRun(this.#store, id), undefined)
    }
    for (const id of this.#sealed.keys()) if (!now.has(id)) forgetSeal(this.#store, id)
    this.#sealed = now
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
    if (attempt(() => isSealedRun(this.#store, id), false)) queueRun(this.#store, id)
    else this.#store.runs.setStatus(id, 'failed', { error: packFailure(changedSince('This run')) })
  }
}

const idsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []

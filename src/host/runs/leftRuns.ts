/**
 * Runs that were training when their host died. Their processes have finished a step, saved a checkpoint and exited; if
 * the setting says so, the next host that serves the queue resumes them.
 */
import { isDeepStrictEqual } from 'node:util'
import { attempt } from '#shared/attempt.ts'
import { packFailure } from '#host/processes/messages.ts'
import { changedSince, workHolder } from '#host/workFolder/workFolder.ts'
import type { Store } from '#host/store/store.ts'
import {
  forgetSeal,
  isSealedRun,
  queueRun,
  sealContent,
  sealedRuns,
  sealRun,
  type TrainedWith,
} from './sealedRuns.ts'
import { changesOfRun } from './settingChanges.ts'
import type { WorkerStatus } from './supervisor.ts'

/** Setting: true = go on by itself. */
const resumeKey = 'runs.resumeLeft'
/**
 * Setting with the runs in training, kept as they start and end: a run that it names when a host opens was left by a
 * host that died.
 */
const trainedKey = 'host.training'

/** A run in training, with the changes of its settings that this host had made last. */
type Trained = Pick<WorkerStatus, 'runId' | 'changes'>

export class LeftRuns {
  readonly #store: Store
  /** True if runs that were left go on by themselves. */
  readonly areResumed: boolean
  /** Ids not yet looked after: their processes may still be finishing a step. */
  #waiting: readonly string[]
  /** Ids of runs with a seal that nobody looks after: a host that died left it, and they do not go on by themselves. */
  #forsaken: readonly string[]
  /** Runs in training, with what they are sealed with; null: nothing, since they could not be read. */
  #sealed = new Map<string, TrainedWith | null>()

  constructor(store: Store) {
    this.#store = store
    this.areResumed = store.settings.get(resumeKey) === true
    this.#waiting = this.areResumed ? idsOf(store.settings.get(trainedKey)) : []
    this.#forsaken = sealedRuns(store).filter((id) => !this.#waiting.includes(id))
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
  remember(trained: readonly Trained[]): void {
    this.seal(trained)
    const ids = [...new Set([...this.#waiting, ...trained.map(({ runId }) => runId)])]
    if (ids.join() !== idsOf(this.#store.settings.get(trainedKey)).join()) {
      this.#store.settings.set(trainedKey, ids)
    }
  }

  /**
   * Lets runs in training go on with what they began with, and with the settings that the person changed meanwhile; to be called when
   * their logs have grown. Their files may be exchanged while they train.
   */
  seal(trained: readonly Trained[]): void {
    for (const id of this.#sealed.keys()) {
      if (trained.some(({ runId }) => runId === id)) continue
      forgetSeal(this.#store, id)
      this.#sealed.delete(id)
    }
    for (const { runId, changes } of trained) {
      const begun = this.#sealed.get(runId)
      // One that cannot be read fails by itself.
      if (begun === undefined)
        this.#sealed.set(
          runId,
          attempt(() => sealRun(this.#store, runId), null),
        )
      else if (begun !== null && changes !== null)
        attempt(() => this.#takeIn(runId, begun, changes), undefined)
    }
  }

  /** Takes changes in that this host had made, once the run's process has written them down. */
  #takeIn(runId: string, begun: TrainedWith, changes: TrainedWith['changes']): void {
    if (isDeepStrictEqual(changes, begun.changes)) return
    const { directory } = this.#store.runs.get(runId)
    if (!isDeepStrictEqual(changes, changesOfRun(directory))) return
    const now = { ...begun, changes }
    sealContent(this.#store, runId, now)
    this.#sealed.set(runId, now)
  }

  /** Puts runs whose processes have ended into the queue; returns true if there were any. */
  queueEnded(): boolean {
    this.#forsaken = this.#forsaken.filter((id) => !this.#forget(id))
    const ended = this.#waiting.filter((id) => this.#hasEnded(id))
    this.#waiting = this.#waiting.filter((id) => !ended.includes(id))
    for (const id of ended) this.#queue(id)
    return ended.length > 0
  }

  #hasEnded(id: string): boolean {
    const run = this.#store.runs.find(id)
    return run === null || workHolder(run.directory) === null
  }

  /** Forgets a seal that nobody looks after; returns false while a process is at the run. */
  #forget(id: string): boolean {
    if (!this.#hasEnded(id)) return false
    const isInUse = this.#sealed.has(id) || this.#store.queue.list().some(({ runId }) => runId === id)
    if (!isInUse) forgetSeal(this.#store, id)
    return true
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

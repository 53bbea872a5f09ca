/**
 * Maintains a run's folder during training: every event in the log, complete checkpoints, and after a resume one history
 * without gaps or repetitions, whatever the process was doing when it was killed.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { device } from '#shared/api/common.ts'
import { readChanges, type SettingChange } from '#shared/config/changes.ts'
import type { DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { CheckpointDueEvent, CheckpointSavedEvent, RunEvent, RunManifest } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { RunWatch } from '#rl/diagnosis/watch.ts'
import { clearLaterCheckpoints, pruneCheckpoints, type Retention } from '#host/runs/checkpointRetention.ts'
import {
  listCheckpoints,
  saveCheckpoint,
  type Checkpoint,
  type CheckpointEntry,
} from '#host/models/checkpoints.ts'
import { lastEvent, openEventLog, readEvents, type EventLog } from '#host/workFolder/eventLog.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { asItLies } from '#host/files/movedPaths.ts'
import { sealCheckpoint, sealCode } from '#host/runs/ownWork.ts'
import { homeOf, runPaths } from '#host/workFolder/runFolder.ts'
import type { EventSink } from './eventSink.ts'
import { manifestDifferences, readManifest } from '#host/runs/manifest.ts'

const loggedDevice = z.object({ device })
const watchedTypes = ['step', 'evaluation', 'samples', 'checkpoint-saved', 'checkpoints-removed', 'diagnosis']

/** Parts of a checkpoint that only the training itself knows. */
export type TrainedState = Omit<Checkpoint, 'trainer' | 'events' | 'reward' | 'metrics'>

export class Recorder {
  readonly #runDirectory: string
  /** Data directory in which the run goes on by itself; null: in none. */
  readonly #home: string | null
  readonly #log: EventLog
  /** Latest metrics; `#heldOut` is the held-out rows' part of them with its step. */
  #metrics: Metrics = {}
  #heldOut: { readonly step: number; readonly reward: number | null } | null = null
  /** Step of the newest checkpoint of this history. */
  #savedStep: number | null = null
  #toldOfBudget = false
  #watch: RunWatch | null = null
  #mirrors: readonly EventSink[] = []

  /** `consents`: the file in the data directory in which the run goes on by itself. Errors: AppError 'file/unwritable'. */
  constructor(runDirectory: string, consents?: string) {
    this.#runDirectory = runDirectory
    this.#home = consents === undefined ? null : path.dirname(consents)
    this.#log = openEventLog(runPaths(runDirectory).events)
  }

  /**
   * Writes events down before anybody hears of them, and what the diagnosis has to say to them. Errors: AppError
   * 'run/destroyed' where the run is to end on that.
   */
  *say(...events: readonly RunEvent[]): Generator<RunEvent> {
    for (const event of events) {
      this.#log.append(event)
      for (const mirror of this.#mirrors) mirror.take(event)
      yield event
      const remark = this.#watch?.take(event) ?? null
      if (remark === null) continue
      this.#log.append(remark)
      yield remark
      this.#watch?.requireWorth(remark)
    }
  }

  /** Watches events from here on; those of the history count as seen. */
  watch(watch: RunWatch): void {
    for (const event of readEvents(runPaths(this.#runDirectory).events, watchedTypes)) {
      watch.remember(event as unknown as RunEvent)
    }
    this.#watch = watch
  }

  /** Hands events from here on to others as well, which the recorder closes: before it opens new ones in their place. */
  mirror(open: () => readonly EventSink[]): void {
    this.#closeMirrors()
    this.#mirrors = open()
  }

  #closeMirrors(): void {
    for (const mirror of this.#mirrors) mirror[Symbol.dispose]()
    this.#mirrors = []
  }

  /** Events of the history end where the checkpoint was made, or are none; what lay behind is given up. */
  *takeUp(checkpoint: Checkpoint | null): Generator<RunEvent> {
    const step = checkpoint?.trainer.step ?? -1
    const { damaged } = clearLaterCheckpoints(this.#runDirectory, step)
    if (this.#log.length > 0) this.#log.rewind(checkpoint?.events ?? 0)
    const entry = listCheckpoints(this.#runDirectory).find((candidate) => candidate.step === step)
    // The checkpoint was announced after it was made, so the history up to it lacks the announcement.
    if (entry !== undefined) yield* this.say(saved(entry))
    yield* this.#sayWhatIsGone(step)
    for (const { step: damagedStep, problem } of damaged) {
      const message = `The checkpoint of step ${damagedStep} cannot be used and was renamed to end in .damaged; the run continues from step ${Math.max(step, 0)}. ${problem}`
      yield* this.say({ type: 'warning', step: Math.max(step, 0), message })
    }
    this.#savedStep = entry?.step ?? null
  }

  /**
   * The changes of the run's settings, said where a resume gave them up; `made`: with new ones among them, which are on the
   * disk when this is heard.
   */
  *takeUpChanges(
    step: number,
    made: readonly SettingChange[] | null,
  ): Generator<RunEvent, readonly SettingChange[]> {
    const known = readChanges(lastEvent(runPaths(this.#runDirectory).events, 'settings-changed'))
    const changes = made ?? known
    if (changes.length === 0 && known.length === 0) return changes
    this.#log.append({ type: 'settings-changed', step, changes })
    this.#log.flush()
    yield { type: 'settings-changed', step, changes }
    return changes
  }

  /** Has the run go on by itself with the copies of code that it begins with. Errors: AppError 'file/…'. */
  sealCode(): void {
    if (this.#home !== null) sealCode(this.#runDirectory, this.#home)
  }

  /** Folder of the newest checkpoint of this history. */
  savedCheckpoint(): string | null {
    const step = this.#savedStep
    return listCheckpoints(this.#runDirectory).find((entry) => entry.step === step)?.directory ?? null
  }

  /** Checkpoints that are announced but not there: their removal was in the part that was given up. */
  *#sayWhatIsGone(step: number): Generator<RunEvent> {
    const { events, checkpoints } = runPaths(this.#runDirectory)
    const announced = new Set<string>()
    // The run may have lain elsewhere before.
    const placeOf = (directory: string) => path.join(checkpoints, path.basename(directory))
    for (const event of readEvents(events, ['checkpoint-saved', 'checkpoints-removed'])) {
      if (typeof event['directory'] === 'string') announced.add(placeOf(event['directory']))
      else for (const directory of strings(event['directories'])) announced.delete(placeOf(directory))
    }
    const directories = [...announced].filter((directory) => !existsSync(directory))
    if (directories.length > 0) yield* this.say({ type: 'checkpoints-removed', step, directories })
  }

  /** The manifest where the history has none yet; else a warning for everything that changed since. */
  *sayManifest(manifest: RunManifest, step: number): Generator<RunEvent> {
    const known = readEvents(runPaths(this.#runDirectory).events, ['manifest']).at(-1)
    if (known === undefined) {
      yield* this.say({ type: 'manifest', manifest })
      return
    }
    const before = asItLies(known, this.#runDirectory, homeOf(this.#runDirectory))
    for (const message of manifestDifferences(readManifest(before['manifest']), manifest)) {
      yield* this.say({ type: 'warning', step, message })
    }
  }

  /**
   * Returns the device on which the run computed so far; null where it has not begun, or an earlier version that did
   * not say so began it.
   */
  deviceBefore(): DeviceKind | null {
    const last = readEvents(runPaths(this.#runDirectory).events, ['device']).at(-1)
    return loggedDevice.safeParse(last).data?.device.kind ?? null
  }

  /** Records the events of the loop and saves the checkpoints that it requests. */
  async *record(
    events: AsyncIterable<RunEvent>,
    retention: Retention,
    state: () => TrainedState | Promise<TrainedState>,
  ): AsyncGenerator<RunEvent> {
    for await (const event of events) {
      this.#remember(event)
      if (event.type !== 'checkpoint-due') yield* this.say(event)
      else if (event.step !== this.#savedStep) {
        yield* this.#keepCheckpoint(event, await state())
        yield* this.#prune(event.step, retention)
      }
    }
    this.#log.flush()
  }

  #remember(event: RunEvent): void {
    if (event.type === 'step') this.#metrics = event.metrics
    if (event.type !== 'evaluation') return
    this.#metrics = { ...this.#metrics, ...event.metrics }
    this.#heldOut = { step: event.step, reward: event.metrics.eval_reward ?? null }
  }

  async *#keepCheckpoint(
    { step, state: trainer }: CheckpointDueEvent,
    state: TrainedState,
  ): AsyncGenerator<RunEvent> {
    this.#log.flush() // a checkpoint counts on the events before it
    const began = performance.now()
    const checkpoint = {
      ...state,
      trainer,
      events: this.#log.length,
      reward: this.#heldOut?.step === step ? this.#heldOut.reward : null,
      metrics: Object.fromEntries(Object.entries(this.#metrics).filter(isMeasured)),
    }
    const entry = await saveCheckpoint(this.#runDirectory, checkpoint, (folder) => this.#seal(folder, step))
    this.#savedStep = step
    yield* this.say({ ...saved(entry), seconds: (performance.now() - began) / 1000 })
  }

  #seal(folder: string, step: number): void {
    if (this.#home !== null) sealCheckpoint(folder, step, this.#runDirectory, this.#home)
  }

  *#prune(step: number, retention: Retention): Generator<RunEvent> {
    const { removed, isOverBudget } = pruneCheckpoints(this.#runDirectory, {
      ...retention,
      ...this.#watch?.kept,
    })
    if (removed.length > 0) yield* this.say({ type: 'checkpoints-removed', step, directories: removed })
    if (isOverBudget && !this.#toldOfBudget) {
      this.#toldOfBudget = true
      const message =
        'The newest and the best checkpoint alone take more disk space than checkpoints.diskBudgetMb allows.'
      yield* this.say({ type: 'warning', step, message })
    }
  }

  /** Records the last event of a run. If the log cannot be written, the error thrown still says what happened first. */
  fail(error: RunEvent): void {
    try {
      this.#log.append(error)
      this.#log.flush()
    } catch (second) {
      if (!(second instanceof AppError)) throw second
    }
  }

  [Symbol.dispose](): void {
    this.#closeMirrors()
    this.#log[Symbol.dispose]()
  }
}

const isMeasured = (entry: [string, number | undefined]): entry is [string, number] => entry[1] !== undefined

const saved = ({ step, directory, reward, sizeBytes }: CheckpointEntry): CheckpointSavedEvent => ({
  type: 'checkpoint-saved',
  step,
  directory,
  reward,
  sizeBytes,
})

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []

/** A copy of the model in a checkpoint may be what this process computes with: then that checkpoint must stay. */
export const retentionOf = ({ checkpoints }: RunConfig, model: ModelFolder): Retention => ({
  ...checkpoints,
  inUse: path.dirname(model.directory),
})

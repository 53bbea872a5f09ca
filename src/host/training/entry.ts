/**
 * The composition root of training: builds policy, rewards and algorithm from a run's config, lets `rl` train, and keeps
 * the run's folder: every event in the log, checkpoints whole. Reading guide of this folder:
 *
 *   entry.ts            (here) one run, from config to finished checkpoint; recording.ts keeps its folder,
 *                       stages.ts says which trainings it is made of, openTraining.ts opens one of them,
 *                       adapterStart.ts says which adapter it begins with
 *
 * `jobs/process/training.ts` is what happens around it in its process, `calibrating.ts` beside it takes one step of a run that is not made; runs/supervisor.ts starts, watches and stops such processes,
 * runs/runQueue.ts starts one after the other.
 */
import path from 'node:path'
import { nextChange, settingsAfter, type SettingChange } from '#shared/config/changes.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import type { EngineKind } from '#shared/config/engine.ts'
import type { Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEvent, ScheduleEvent, TrainerState } from '#shared/events.ts'
import { effectWords, roundedTo } from '#shared/precision.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { RunWatch } from '#rl/diagnosis/watch.ts'
import { initialState } from '#rl/training/plan.ts'
import type { ChangeRequest, PauseRequest, Schedule } from '#rl/training/dependencies.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { isChanging, isHeld, train } from '#rl/training/train.ts'
import { type Checkpoint, loadCheckpoint } from '#host/models/checkpoints.ts'
import { isCheckpoint } from '#host/workFolder/checkpointState.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { lockRun, readOwnConfig, runPaths } from '#host/workFolder/runFolder.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'
import { openAgents } from '#host/agents/openAgents.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { resolveWorkflows } from '#host/code/resolveWorkflow.ts'
import { computeManifest } from '#host/runs/manifest.ts'
import type { TrainingRequest } from '#host/runs/trainingJob.ts'
import { checkPrecision } from '#host/checks/precisionCheck.ts'
import type { EngineRun } from './engineTraining.ts'
import { adapterOf, openTraining } from './openTraining.ts'
import { scriptOfRun } from './scriptFile.ts'
import { Recorder, retentionOf } from './recording.ts'
import { chooseRunDevice, type RunDeviceRequest } from './runDevice.ts'
import type { EventSink } from './eventSink.ts'
import { openTensorBoard } from './tensorboard.ts'
import { openWandb } from './wandb.ts'
import { beginStage, nextStage, readStages, type Stage, type TrainingStart } from './stages.ts'

/** Commands accepted by a running training process. */
export type RunControl = Omit<TrainingControl, 'stop' | 'requestPause' | 'unpause'> &
  Pick<Schedule, 'onPhase'>

/**
 * Trains the run in a folder until its end, or until `control` says so: then after the current step. Yields what happens
 * as it happens; a failure is in the log before it is thrown.
 */
export async function* runTraining(
  request: TrainingRequest,
  control: RunControl,
  ownScript: TrainingScript | null = null,
): AsyncGenerator<RunEvent> {
  const { runDirectory, resumeFrom, changes = null, consents } = request
  using _lock = lockRun(runDirectory)
  using recorder = new Recorder(runDirectory, consents)
  try {
    const own = readOwnConfig(runDirectory)
    parseRunConfig(own)
    const run = { request, control, ownScript, recorder, own }
    for (let next: TakeUp | null = { resumeFrom, changes }; next !== null;)
      next = yield* trainUntilChange(run, next)
  } catch (error) {
    recorder.fail(errorEvent(error))
    throw error
  }
}

interface ControlledRun {
  readonly request: TrainingRequest
  readonly control: RunControl
  readonly ownScript: TrainingScript | null
  readonly recorder: Recorder
  /** The config that the run began with. */
  readonly own: JsonObject
}

/** Point and settings from which a run goes on. */
interface TakeUp {
  /** Folder of the checkpoint; null = from the start. */
  readonly resumeFrom: string | null
  /** Changes of the run, some of them new; null: those of its log. */
  readonly changes: readonly SettingChange[] | null
}

/**
 * Trains until settings change, and returns how the run is then taken up: anew from the checkpoint of that step, whether the
 * change was made during a pause or is replayed from an earlier checkpoint. Null where it is over or was stopped.
 */
async function* trainUntilChange(
  { request, control, ownScript, recorder, own }: ControlledRun,
  { resumeFrom, changes: made }: TakeUp,
): AsyncGenerator<RunEvent, TakeUp | null> {
  const { runDirectory, cacheDirectory, consents } = request
  const checkpoint = resumeFrom === null ? null : loadCheckpoint(resumeFrom)
  yield* recorder.takeUp(checkpoint)
  const start = startOf(checkpoint, runDirectory)
  const step = stepOf(start)
  const changes = yield* recorder.takeUpChanges(step, made)
  const config = parseRunConfig(settingsAfter(own, changes, step))
  await using algorithms = await resolveAlgorithms(config, runDirectory)
  recorder.watch(new RunWatch(config, algorithms.byId))
  recorder.mirror(() => sinksOf(config, runDirectory, step))
  yield* recorder.say({ type: 'status', phase: 'preparing', step, steps: config.steps ?? 0 })
  const model = openModelFolder(checkpoint?.model ?? config.model, config)
  await using judges = new RunJudges({ folder: runDirectory, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, runDirectory, { consents, openJudge: judges.open })
  await using world = await resolveEnvironment(config, runDirectory, { cacheDirectory, consents })
  await using agents = await openAgents(config, {
    runDirectory,
    signal: control.signal,
    key: request.agentKey,
  })
  if (agents.address !== null) yield* recorder.say({ type: 'agents', step, address: agents.address })
  await using workflows = await resolveWorkflows(config, runDirectory, (stage) => agents.workflowOf(stage))
  recorder.sealCode()
  const stages = await readStages(config, model, {
    rewards: rewards.specs,
    environment: world.environment,
    algorithmById: algorithms.byId,
    workflows: workflows.all,
  })
  yield* recorder.say(scheduleOf(stages, start, request.expected))
  const script = yield* scriptFor({ recorder, runDirectory, ownScript, consents }, step)
  const manifest = await computeManifest({ config, model, runDirectory, cacheDirectory })
  yield* recorder.sayManifest(manifest, step)
  const device = yield* placeRun(recorder, step, { config, model, cacheDirectory })
  const change = changeRequest(control, nextChange(changes, step))
  const signal = AbortSignal.any([control.signal, judges.spent])
  const run = {
    name: path.basename(runDirectory),
    stages,
    model,
    device,
    cacheDirectory,
    recorder,
    judges,
    control: { ...control, signal },
    change,
    script,
    until: request.until,
  }
  const state = yield* runBy({ ...run, consents, kind: config.engine.kind, runDirectory }, start)
  const goesOn =
    state !== null && isChanging(run, state) && !isHeld({ ...run.control, until: run.until }, state)
  return goesOn ? { resumeFrom: recorder.savedCheckpoint(), changes: control.takeChanges() } : null
}

/** Files for other programs that the config asks for. */
const sinksOf = (config: RunConfig, runDirectory: string, step: number): EventSink[] => [
  ...(config.tensorboard ? [openTensorBoard(runDirectory, step)] : []),
  ...(config.wandb ? [openWandb(runDirectory, config)] : []),
]

/** Requests settings changes; those made during a pause come first. */
const changeRequest = (control: RunControl, after: number | null): ChangeRequest => ({
  get after() {
    return control.hasChanges() ? 0 : after
  },
})

const stepOf = (start: TrainingStart | null): number => start?.checkpoint.trainer.step ?? 0

const startOf = (checkpoint: Checkpoint | null, runDirectory: string): TrainingStart | null =>
  checkpoint === null ? originOf(runDirectory) : { checkpoint, isFork: false }

/** The script in the run's folder; a run goes on with it as it is now. */
async function* scriptFor(
  run: {
    readonly recorder: Recorder
    readonly runDirectory: string
    readonly ownScript: TrainingScript | null
    readonly consents: string | undefined
  },
  step: number,
): AsyncGenerator<RunEvent, TrainingScript | null> {
  const { recorder, runDirectory, ownScript, consents = null } = run
  if (ownScript !== null) return ownScript
  const script = await scriptOfRun(runDirectory, consents)
  if (script?.hasChanged === true) {
    const message = 'The training script changed since this run began: the result will differ.'
    yield* recorder.say({ type: 'warning', step, message })
  }
  return script?.train ?? null
}

/** The device of the run, said where it is not in the log yet. */
async function* placeRun(
  recorder: Recorder,
  step: number,
  request: Omit<RunDeviceRequest, 'before'>,
): AsyncGenerator<RunEvent, Device> {
  const before = recorder.deviceBefore()
  const { device, reason } = await chooseRunDevice({ ...request, before })
  if (device.kind !== before) yield* recorder.say({ type: 'device', step, device, reason })
  return device
}

/** Schedule of a process that begins here. A fork is evaluated where it leaves its parent. */
function scheduleOf(
  stages: readonly Stage[],
  start: TrainingStart | null,
  expected: TrainingRequest['expected'],
): ScheduleEvent {
  const step = stepOf(start)
  const scheduled = stages.map(({ place, lastStep, parts }, index) => ({
    firstStep: start?.isFork === true && step < lastStep ? Math.max(step, place.firstStep) : place.firstStep,
    lastStep,
    evaluateEvery: parts.config.evaluation.every,
    checkpointEvery: parts.config.checkpoints.every,
    heldOutRows: Math.min(parts.data.heldOut.length, parts.config.evaluation.rows ?? Infinity),
    expected: expected?.[index] ?? null,
  }))
  return { type: 'schedule', step, stages: scheduled }
}

/** Notice of what rounding the base does to it, given once when a run begins. */
async function roundingNotice({ stages, model, device, cacheDirectory }: Stages): Promise<RunEvent[]> {
  const [first] = stages
  if (first === undefined) return []
  const {
    config,
    model: { tokenizer },
  } = first.parts
  const precision = roundedTo(config.base.precision)
  if (precision === null) return []
  const effect = await checkPrecision({ model, tokenizer, precision, texts: null, device, cacheDirectory })
  return [{ type: 'warning', step: 0, message: effectWords(effect) }]
}

/** Data that the stages of a run have in common. */
interface Stages {
  /** Name of the run's folder. */
  readonly name: string
  readonly stages: readonly Stage[]
  readonly model: ModelFolder
  readonly device: Device
  readonly cacheDirectory: string
  readonly consents: string | undefined
  readonly recorder: Recorder
  readonly judges: RunJudges
  readonly control: RunControl
  readonly change: ChangeRequest
  readonly script: TrainingScript | null
  readonly until: number | undefined
}

/** One after the other: the policy a stage ends with is start and reference of the next. Returns where the last one ended. */
async function* runStages(
  run: Stages,
  start: TrainingStart | null,
): AsyncGenerator<RunEvent, TrainerState | null> {
  const { name, stages, model, device, cacheDirectory, consents, recorder, judges } = run
  const { control, change, script, until } = run
  let last: TrainerState | null = null
  for (let next = beginStage(stages, start); next !== null;) {
    const { stage, begin } = next
    const { config } = stage.parts
    await using training = await openTraining({ name, stage, model, device, cacheDirectory, consents, begin })
    const { step } = begin?.state ?? initialState
    yield* recorder.say(...training.warnings.map((message) => ({ type: 'warning', step, message }) as const))
    const ended: { state: TrainerState | null } = { state: null }
    const schedule = {
      ...training.dependencies.schedule,
      signal: control.signal,
      pause: control.pause,
      change,
      until,
      ...(control.onPhase === undefined ? {} : { onPhase: control.onPhase }),
    }
    const code = {
      ...training.dependencies.code,
      ...(script === null ? {} : { script }),
      rewardMetrics: () => judges.takeMetrics(),
    }
    const dependencies = { ...training.dependencies, code, schedule }
    const events = withNotes(remembering(train(dependencies), ended), judges)
    yield* recorder.record(events, retentionOf(config, model), training.state)
    const { state } = ended
    last = state
    const isOver =
      state === null || state.step < stage.lastStep || isHeld(schedule, state) || isChanging(schedule, state)
    next = isOver ? null : nextStage(stages, state, adapterOf(await training.state()))
  }
  return last
}

/** Turnwise trains, or another trainer, which keeps its settings to the end. Returns where its own training ended. */
async function* runBy(
  { kind, ...run }: Stages & Pick<EngineRun, 'runDirectory' | 'consents'> & { readonly kind: EngineKind },
  start: TrainingStart | null,
): AsyncGenerator<RunEvent, TrainerState | null> {
  if (kind !== 'local') {
    // Few runs need it, and what it loads is a sixth of this process's code.
    const { runOnEngine } = await import('./engineTraining.ts')
    yield* runOnEngine({ ...run, kind }, start)
    return null
  }
  if (start === null) yield* run.recorder.say(...(await roundingNotice(run)))
  return yield* runStages(run, start)
}

/** Passes events on and keeps what the generator returns. */
async function* remembering(
  events: AsyncGenerator<RunEvent, TrainerState>,
  ended: { state: TrainerState | null },
): AsyncGenerator<RunEvent> {
  ended.state = yield* events
}

/** Adds the judges' notes behind the event in which they arose. */
async function* withNotes(events: AsyncIterable<RunEvent>, judges: RunJudges): AsyncGenerator<RunEvent> {
  for await (const event of events) {
    yield event
    if (!('step' in event)) continue
    for (const message of judges.takeNotes()) yield { type: 'warning', step: event.step, message }
  }
}

/** The checkpoint of another run that this one began with; null for a run of its own. */
function originOf(runDirectory: string): TrainingStart | null {
  const { origin } = runPaths(runDirectory)
  return isCheckpoint(origin) ? { checkpoint: loadCheckpoint(origin), isFork: true } : null
}

function errorEvent(error: unknown): RunEvent {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof AppError)) return { type: 'error', code: null, message }
  return {
    type: 'error',
    code: error.code,
    message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  }
}

/* What the host asks of a training process, as the training loop sees it. */

interface TrainingControl {
  /** Aborted: end after the current step. */
  readonly signal: AbortSignal
  readonly pause: PauseRequest
  /** Returns true if settings were changed during the pause. */
  hasChanges(): boolean
  /** Returns all changes of the run and removes them here; null: none were made. */
  takeChanges(): readonly SettingChange[] | null
  stop(): void
  requestPause(): void
  unpause(changes?: readonly SettingChange[]): void
}

export function createControl(): TrainingControl {
  const end = new AbortController()
  let isWanted = false
  let changes: readonly SettingChange[] | null = null
  let release = () => {}
  const unpause = (made?: readonly SettingChange[]) => {
    changes = made ?? changes
    isWanted = false
    release()
  }
  return {
    signal: end.signal,
    pause: {
      get isWanted() {
        return isWanted
      },
      over: () =>
        new Promise((resolve) => {
          if (!isWanted) resolve()
          else release = resolve
        }),
    },
    hasChanges: () => changes !== null,
    takeChanges() {
      const taken = changes
      changes = null
      return taken
    },
    stop() {
      end.abort()
      unpause()
    },
    requestPause() {
      isWanted = !end.signal.aborted
    },
    unpause,
  }
}

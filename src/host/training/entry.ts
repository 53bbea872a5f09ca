/**
 * The composition root of training: builds policy, rewards and algorithm from a run's config, lets `rl` train, and keeps
 * the run's folder: every event in the log, checkpoints whole. Reading guide of this folder:
 *
 *   entry.ts            (here) one run, from config to finished checkpoint; recording.ts keeps its folder,
 *                       stages.ts says which trainings it is made of, openTraining.ts opens one of them,
 *                       adapterStart.ts says which adapter it begins with
 *   calibrating.ts      one step of a run that is not made: what it will need
 *
 * processes/trainingProcess.ts is the process it happens in; runs/supervisor.ts starts, watches and stops such processes,
 * runs/runQueue.ts starts one after the other.
 */
import path from 'node:path'
import type { EngineKind } from '#shared/config/engine.ts'
import type { Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEvent, ScheduleEvent, TrainerState } from '#shared/events.ts'
import { effectWords } from '#shared/precision.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { RunWatch } from '#rl/diagnosis/watch.ts'
import { initialState } from '#rl/training/plan.ts'
import type { TrainDependencies, PauseRequest } from '#rl/training/dependencies.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { isHeld, train } from '#rl/training/train.ts'
import type { Retention } from '#host/runs/checkpointRetention.ts'
import { type Checkpoint, loadCheckpoint } from '#host/runs/checkpoints.ts'
import { isCheckpoint } from '#host/runs/checkpointState.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { lockRun, runPaths } from '#host/runs/runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { countBeside } from '#host/outboundRequests.ts'
import { resolveEnvironment } from '#host/environments/resolveEnvironment.ts'
import { resolveAlgorithms } from '#host/losses/resolveAlgorithms.ts'
import { resolveRewards } from '#host/rewards/resolveRewards.ts'
import { resolveWorkflows } from '#host/workflows/resolveWorkflow.ts'
import { computeManifest } from '#host/runs/manifest.ts'
import type { TrainingRequest } from '#host/processes/messages.ts'
import { checkPrecision } from '#host/checks/precisionCheck.ts'
import { EngineTraining, type EngineRun } from './engineTraining.ts'
import { adapterOf, openTraining, type Training, type TrainingSetup } from './openTraining.ts'
import { scriptOfRun } from './scriptFile.ts'
import { Recorder } from './recording.ts'
import { chooseRunDevice, type RunDeviceRequest } from './runDevice.ts'
import { beginStage, nextStage, readStages, type Stage, type TrainingStart } from './stages.ts'

/** Commands accepted by a running training process. */
export type RunControl = Pick<TrainingControl, 'signal' | 'pause'> & Pick<TrainDependencies, 'onPhase'>

/**
 * Trains the run in a folder until its end, or until `control` says so: then after the current step. Yields what happens
 * as it happens; a failure is in the log before it is thrown.
 */
export async function* runTraining(
  request: TrainingRequest,
  control: RunControl,
  ownScript: TrainingScript | null = null,
): AsyncGenerator<RunEvent> {
  const { runDirectory, cacheDirectory, consents, resumeFrom } = request
  using _lock = lockRun(runDirectory)
  using recorder = new Recorder(runDirectory)
  try {
    const config = parseRunConfig(readJsonObject(runPaths(runDirectory).config, 'config/invalid'))
    await using _losses = await resolveAlgorithms(config, runDirectory)
    const checkpoint = resumeFrom === null ? null : loadCheckpoint(resumeFrom)
    yield* recorder.takeUp(checkpoint)
    recorder.watch(new RunWatch(config))
    const start = startOf(checkpoint, runDirectory)
    const step = start?.checkpoint.trainer.step ?? 0
    yield* recorder.say({ type: 'status', phase: 'preparing', step, steps: config.steps ?? 0 })
    const model = openModelFolder(checkpoint?.model ?? config.model, config)
    await using rewards = await resolveRewards(config, runDirectory, consents)
    await using world = await resolveEnvironment(config, runDirectory, {
      ...{ cacheDirectory, consents },
      onRequest: () => countBeside(cacheDirectory),
    })
    const judging = { rewards: rewards.specs, environment: world.environment }
    await using workflows = await resolveWorkflows(config, runDirectory)
    const stages = await readStages(config, model, judging, workflows.all)
    yield* recorder.say(scheduleOf(stages, start, request.expected))
    const script = yield* scriptFor({ recorder, runDirectory, ownScript }, step)
    const manifest = await computeManifest({ config, model, runDirectory, cacheDirectory })
    yield* recorder.sayManifest(manifest, step)
    const device = yield* placeRun(recorder, step, { config, model, cacheDirectory })
    const name = path.basename(runDirectory)
    const run = {
      name,
      stages,
      model,
      device,
      cacheDirectory,
      recorder,
      control,
      script,
      until: request.until,
    }
    yield* runBy({ ...run, kind: config.engine.kind, runDirectory, consents }, start)
  } catch (error) {
    recorder.fail(errorEvent(error))
    throw error
  }
}

const startOf = (checkpoint: Checkpoint | null, runDirectory: string): TrainingStart | null =>
  checkpoint === null ? originOf(runDirectory) : { checkpoint, isFork: false }

/** The script in the run's folder; a run goes on with it as it is now. */
async function* scriptFor(
  run: {
    readonly recorder: Recorder
    readonly runDirectory: string
    readonly ownScript: TrainingScript | null
  },
  step: number,
): AsyncGenerator<RunEvent, TrainingScript | null> {
  const { recorder, runDirectory, ownScript } = run
  if (ownScript !== null) return ownScript
  const script = await scriptOfRun(runDirectory)
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

/** What lies ahead of a process that begins here. A fork is evaluated where it leaves its parent. */
function scheduleOf(
  stages: readonly Stage[],
  start: TrainingStart | null,
  expected: TrainingRequest['expected'],
): ScheduleEvent {
  const step = start?.checkpoint.trainer.step ?? 0
  const scheduled = stages.map(({ place, lastStep, parts }, index) => ({
    firstStep: start?.isFork === true && step < lastStep ? Math.max(step, place.firstStep) : place.firstStep,
    lastStep,
    evaluateEvery: parts.config.evaluation.every,
    checkpointEvery: parts.config.checkpoints.every,
    heldOutRows: Math.min(parts.heldOutRows.length, parts.config.evaluation.rows ?? Infinity),
    expected: expected?.[index] ?? null,
  }))
  return { type: 'schedule', step, stages: scheduled }
}

/** What rounding the base does to it, said once when a run begins. */
async function roundingNotice({ stages, model, device, cacheDirectory }: Stages): Promise<RunEvent[]> {
  const [first] = stages
  if (first === undefined) return []
  const { config, tokenizer } = first.parts
  const { precision } = config.base
  if (precision === 'f32') return []
  const effect = await checkPrecision({ model, tokenizer, precision, texts: null, device, cacheDirectory })
  return [{ type: 'warning', step: 0, message: effectWords(effect) }]
}

/** What the stages of a run have in common. */
interface Stages {
  /** Of the run's folder. */
  readonly name: string
  readonly stages: readonly Stage[]
  readonly model: ModelFolder
  readonly device: Device
  readonly cacheDirectory: string
  readonly recorder: Recorder
  readonly control: RunControl
  readonly script: TrainingScript | null
  readonly until: number | undefined
}

/** One after the other: the policy a stage ends with is start and reference of the next. */
async function* runStages(run: Stages, start: TrainingStart | null): AsyncGenerator<RunEvent> {
  const { name, stages, model, device, cacheDirectory, recorder, control, script, until } = run
  for (let next = beginStage(stages, start); next !== null;) {
    const { stage, begin } = next
    const { config } = stage.parts
    await using training = await openTraining({ name, stage, model, device, cacheDirectory, begin })
    const { step } = begin?.state ?? initialState
    yield* recorder.say(...training.warnings.map((message) => ({ type: 'warning', step, message }) as const))
    const ended: { state: TrainerState | null } = { state: null }
    const dependencies = {
      ...{ ...training.dependencies, ...control },
      ...(script === null ? {} : { script }),
      until,
    }
    const events = remembering(train(dependencies), ended)
    yield* recorder.record(events, retentionOf(config, model), training.state)
    const { state } = ended
    const isOver = state === null || state.step < stage.lastStep || isHeld(dependencies, state)
    next = isOver ? null : nextStage(stages, state, adapterOf(training.state()))
  }
}

/** Turnwise trains, or another trainer. */
async function* runBy(
  { kind, ...run }: Omit<EngineStages, 'kind'> & { readonly kind: EngineKind },
  start: TrainingStart | null,
): AsyncGenerator<RunEvent> {
  if (kind !== 'local') {
    yield* runOnEngine({ ...run, kind }, start)
    return
  }
  if (start === null) yield* run.recorder.say(...(await roundingNotice(run)))
  yield* runStages(run, start)
}

type EngineStages = Stages & Pick<EngineRun, 'kind' | 'runDirectory' | 'consents'>

/** The same by another trainer, whose runs have one stage. Errors: AppError 'engine/unsuitable' for a script of one's own. */
async function* runOnEngine(run: EngineStages, start: TrainingStart | null): AsyncGenerator<RunEvent> {
  const { name, stages, model, device, cacheDirectory, recorder, script } = run
  const [stage] = stages
  if (script !== null || stage === undefined)
    throw new AppError(
      'engine/unsuitable',
      'A training script takes the steps of its run itself, so no other trainer can.',
      'Set `engine.kind` to local.',
    )
  const { config } = stage.parts
  // Evaluations are computed here whatever samples there.
  const own = { ...config, rollout: { ...config.rollout, server: null } }
  const setup = { name, model, device, cacheDirectory, begin: null }
  await using training = await openIfItFits({
    ...setup,
    stage: { ...stage, parts: { ...stage.parts, config: own } },
  })
  if (training === null)
    yield* recorder.say({ type: 'warning', step: start?.checkpoint.trainer.step ?? 0, message: tooLarge })
  const engine = new EngineTraining({ ...run, stage, start, training })
  yield* recorder.record(engine.train(), retentionOf(config, model), () => engine.state())
}

const tooLarge =
  'The model does not fit into this machine’s memory here, so its checkpoints are neither evaluated nor compared.'

/** null where memory is short. */
async function openIfItFits(setup: TrainingSetup): Promise<Training | null> {
  try {
    return await openTraining(setup)
  } catch (error) {
    if (error instanceof AppError && error.code.endsWith('/out-of-memory')) return null
    throw error
  }
}

/** Passes events on and keeps what the generator returns. */
async function* remembering(
  events: AsyncGenerator<RunEvent, TrainerState>,
  ended: { state: TrainerState | null },
): AsyncGenerator<RunEvent> {
  ended.state = yield* events
}

/** A copy of the model in a checkpoint may be what this process computes with: then that checkpoint must stay. */
const retentionOf = ({ checkpoints }: RunConfig, model: ModelFolder): Retention => ({
  ...checkpoints,
  inUse: path.dirname(model.directory),
})

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
  stop(): void
  requestPause(): void
  unpause(): void
}

export function createControl(): TrainingControl {
  const end = new AbortController()
  let isWanted = false
  let release = () => {}
  const unpause = () => {
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

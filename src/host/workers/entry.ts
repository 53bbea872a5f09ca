/**
 * The composition root of training: builds policy, rewards and algorithm from a run's config, lets `rl` train, and keeps
 * the run's folder: every event in the log, checkpoints whole. Reading guide of this folder:
 *
 *   entry.ts            (here) one run, from config to finished checkpoint; recording.ts keeps its folder,
 *                       stages.ts says which trainings it is made of, adapterStart.ts which adapter it begins with
 *   trainingProcess.ts  the process it happens in; messages.ts is what it and the host say to each other
 *   supervisor.ts       starts, watches and stops such processes (workerProcess.ts, childProcess.ts); runQueue.ts starts
 *                       one after the other
 *   model.ts            a model opened for questions: scoring.ts, completing.ts
 *   bench.ts, selftest.ts  what this machine can do, and whether it computes rightly
 */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { RunEvent, TrainerState } from '#shared/events.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { TrainDependencies } from '#rl/training/dependencies.ts'
import { initialState } from '#rl/training/plan.ts'
import { train } from '#rl/training/train.ts'
import { exactResume, stateToRestore } from '../artifacts/checkpointRestore.ts'
import type { Retention } from '../artifacts/checkpointRetention.ts'
import { loadCheckpoint, type Checkpoint, type CriticState } from '../artifacts/checkpoints.ts'
import { isCheckpoint } from '../artifacts/checkpointState.ts'
import { asInt8Source } from '../artifacts/int8Cache.ts'
import { openModelFolder, type ModelFolder } from '../artifacts/modelFolder.ts'
import { lockRun, runPaths } from '../artifacts/runFolder.ts'
import { readJsonObject } from '../artifacts/strictJson.ts'
import { asFloat32Source } from '../artifacts/weightCache.ts'
import { resolveEnvironment } from '../rewards/resolveEnvironment.ts'
import { resolveRewards } from '../rewards/resolveRewards.ts'
import { firstAdapter, type AdapterStart } from './adapterStart.ts'
import type { TrainingControl } from './control.ts'
import { computeManifest } from './manifest.ts'
import type { TrainingRequest } from './messages.ts'
import { chooseDevice } from './model.ts'
import { Recorder, type TrainedState } from './recording.ts'
import {
  beginStage,
  nextStage,
  readStages,
  type Stage,
  type StageBeginning,
  type TrainingStart,
} from './stages.ts'

/** Rows generated together at most: more cost memory and bring a CPU nothing. */
const maxRows = 64

/**
 * Trains the run in a folder until its end, or until `control` says so: then after the current step. Yields what happens
 * as it happens; a failure is in the log before it is thrown.
 */
export async function* runTraining(
  request: TrainingRequest,
  control: Pick<TrainingControl, 'signal' | 'pause'>,
): AsyncGenerator<RunEvent> {
  const { runDirectory, cacheDirectory, resumeFrom } = request
  using _lock = lockRun(runDirectory)
  using recorder = new Recorder(runDirectory)
  try {
    const config = parseRunConfig(readJsonObject(runPaths(runDirectory).config, 'config/invalid'))
    const checkpoint = resumeFrom === null ? null : loadCheckpoint(resumeFrom)
    yield* recorder.takeUp(checkpoint)
    const start = checkpoint === null ? originOf(runDirectory) : { checkpoint, isFork: false }
    const step = start?.checkpoint.trainer.step ?? 0
    yield* recorder.say({ type: 'status', phase: 'preparing', step, steps: config.steps ?? 0 })
    const model = openModelFolder(checkpoint?.model ?? config.model)
    await using rewards = await resolveRewards(config, runDirectory)
    await using world = await resolveEnvironment(config, runDirectory)
    const judging = { rewards: rewards.specs, environment: world.environment }
    const stages = await readStages(config, model, judging)
    const manifest = await computeManifest({ config, model, runDirectory, cacheDirectory })
    yield* recorder.sayManifest(manifest, step)
    yield* runStages({ stages, model, cacheDirectory, recorder, control }, start)
  } catch (error) {
    recorder.fail(errorEvent(error))
    throw error
  }
}

/** What the stages of a run have in common. */
interface Stages {
  readonly stages: readonly Stage[]
  readonly model: ModelFolder
  readonly cacheDirectory: string
  readonly recorder: Recorder
  readonly control: Pick<TrainingControl, 'signal' | 'pause'>
}

/** One after the other: the policy a stage ends with is start and reference of the next. */
async function* runStages(run: Stages, start: TrainingStart | null): AsyncGenerator<RunEvent> {
  const { stages, model, cacheDirectory, recorder, control } = run
  for (let next = beginStage(stages, start); next !== null;) {
    const { stage, begin } = next
    const { config } = stage.parts
    using training = await openTraining({ stage, model, cacheDirectory, begin })
    const { step } = begin?.state ?? initialState
    yield* recorder.say(...training.warnings.map((message) => ({ type: 'warning', step, message }) as const))
    const ended: { state: TrainerState | null } = { state: null }
    const events = remembering(train({ ...training.dependencies, ...control }), ended)
    yield* recorder.record(events, retentionOf(config, model), training.state)
    const { state } = ended
    const isOver = state === null || state.step < stage.lastStep || control.signal.aborted
    next = isOver ? null : nextStage(stages, state, adapterOf(training.state()))
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

/** Everything a run holds while it trains. */
interface Training extends Disposable {
  readonly dependencies: TrainDependencies
  /** What could not be taken over from a checkpoint, in sentences. */
  readonly warnings: readonly string[]
  readonly state: () => TrainedState
}

interface TrainingSetup {
  readonly stage: Stage
  readonly model: ModelFolder
  readonly cacheDirectory: string
  readonly begin: StageBeginning
}

async function openTraining({ stage, model, cacheDirectory, begin }: TrainingSetup): Promise<Training> {
  const { config, algorithm } = stage.parts
  const start = begin?.start ?? null
  const form = start === null ? (begin?.adapter ?? firstAdapter(config, model)) : adapterOf(start.checkpoint)
  // Dropout is how a run trains, whatever the adapter it goes on from was trained with.
  const adapter = { ...form, lora: { ...form.lora, dropout: config.adapter.dropout } }
  const hasCritic = algorithm.needs.values
  const policy = await openPolicy(config, { model, cacheDirectory, adapter, hasCritic })
  const warnings = start === null ? adapter.warnings : restore(policy, stage, start)
  return {
    dependencies: {
      ...stage.parts,
      policy,
      stage: stage.place,
      ...(begin === null ? {} : { state: begin.state, isFork: start?.isFork ?? false }),
    },
    warnings,
    state: () => ({
      lora: adapter.lora,
      baseModel: adapter.baseModel,
      actor: policy.adapterTensors('actor'),
      reference: policy.adapterTensors('reference'),
      critic: hasCritic ? { adapter: policy.adapterTensors('critic'), valueHead: policy.valueHead() } : null,
      optimizer: config.checkpoints.saveOptimizer ? policy.optimizerState() : null,
      model: config.checkpoints.loraOnly ? null : model.directory,
    }),
    [Symbol.dispose]: () => policy[Symbol.dispose](),
  }
}

/** A resume takes over everything, a fork what its config says. */
function restore(
  policy: OrtPolicy,
  { parts: { config, algorithm } }: Stage,
  { checkpoint, isFork }: TrainingStart,
): readonly string[] {
  const { optimizer: loadOptimizer, ...overwrite } = config.checkpoints.load
  const restored = stateToRestore(checkpoint, isFork ? { loadOptimizer, ...overwrite } : exactResume)
  if (restored.reference !== null) policy.restoreAdapter('reference', restored.reference)
  if (algorithm.needs.values && restored.critic !== null) restoreCritic(policy, restored.critic)
  // Moments of other parameters: a fork that goes on with a critic, or without one, has to begin anew.
  const isSame = algorithm.needs.values === (checkpoint.critic !== null)
  if (restored.optimizer === null) return restored.warnings
  if (!isSame) return [...restored.warnings, otherParameters]
  policy.restoreOptimizer(restored.optimizer)
  return restored.warnings
}

const otherParameters =
  'The optimizer begins anew: the checkpoint was made by an algorithm that trains other parameters.'

function restoreCritic(policy: OrtPolicy, { adapter, valueHead }: CriticState): void {
  policy.restoreAdapter('critic', adapter)
  if (valueHead !== null) policy.restoreValueHead(valueHead)
}

const adapterOf = ({
  lora,
  baseModel,
  actor,
}: Pick<Checkpoint, 'lora' | 'baseModel' | 'actor'>): AdapterStart => ({
  lora,
  baseModel,
  tensors: actor,
  warnings: [],
})

interface PolicySetup {
  readonly model: ModelFolder
  readonly cacheDirectory: string
  readonly adapter: AdapterStart
  readonly hasCritic: boolean
}

async function openPolicy(
  { rollout, optimization, seed, device }: RunConfig,
  { model, cacheDirectory, adapter: { lora, tensors }, hasCritic }: PolicySetup,
): Promise<OrtPolicy> {
  const prepare = rollout.precision === 'int8' ? asInt8Source : asFloat32Source
  const { beta1, beta2, epsilon, weightDecay, memory } = optimization
  return createOrtPolicy({
    source: await prepare(model, cacheDirectory),
    device: await chooseDevice(device),
    lora,
    loraSeed: seed,
    critic: hasCritic,
    ...(tensors === null ? {} : { adapter: tensors }),
    rolloutPrecision: rollout.precision,
    activations: memory,
    optimizer: { beta1, beta2, epsilon, weightDecay },
    maxRows,
  })
}

/**
 * The composition root of training: builds policy, rewards and algorithm from a run's config, lets `rl` train, and keeps
 * the run's folder: every event in the log, checkpoints whole. Reading guide of this folder:
 *
 *   entry.ts            (here) one run, from config to finished checkpoint; recording.ts keeps its folder,
 *                       adapterStart.ts says which adapter it begins with
 *   trainingProcess.ts  the process it happens in; messages.ts is what it and the host say to each other
 *   supervisor.ts       starts, watches and stops such processes (workerProcess.ts, childProcess.ts); runQueue.ts starts
 *                       one after the other; logWatcher.ts sees what processes of other hosts write
 *   model.ts            a model opened for questions: scoring.ts, completing.ts
 *   bench.ts, selftest.ts  what this machine can do, and whether it computes rightly
 */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { RunEvent } from '#shared/events.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { scheduleById } from '#engine/optimizers/registry.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import type { TrainDependencies } from '#rl/training/plan.ts'
import { train } from '#rl/training/train.ts'
import { exactResume, stateToRestore } from '../artifacts/checkpointRestore.ts'
import type { Retention } from '../artifacts/checkpointRetention.ts'
import { loadCheckpoint, type Checkpoint } from '../artifacts/checkpoints.ts'
import { isCheckpoint } from '../artifacts/checkpointState.ts'
import { readRunData } from '../artifacts/data/readDataSet.ts'
import { asInt8Source } from '../artifacts/int8Cache.ts'
import { openModelFolder, type ModelFolder } from '../artifacts/modelFolder.ts'
import { lockRun, runPaths } from '../artifacts/runFolder.ts'
import { readJsonObject } from '../artifacts/strictJson.ts'
import { loadTokenizer } from '../artifacts/tokenizerFolder.ts'
import { asFloat32Source } from '../artifacts/weightCache.ts'
import { resolveEnvironment } from '../rewards/resolveEnvironment.ts'
import { resolveRewards } from '../rewards/resolveRewards.ts'
import { firstAdapter, type AdapterStart } from './adapterStart.ts'
import { stopIdsOf } from './completing.ts'
import type { TrainingControl } from './control.ts'
import { computeManifest } from './manifest.ts'
import type { TrainingRequest } from './messages.ts'
import { chooseDevice } from './model.ts'
import { Recorder, type TrainedState } from './recording.ts'

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
    const parts = await readParts(config, model)
    await using rewards = await resolveRewards(config, runDirectory)
    await using world = await resolveEnvironment(config, runDirectory)
    const manifest = await computeManifest({ config, model, runDirectory, cacheDirectory })
    yield* recorder.sayManifest(manifest, step)
    using training = await openTraining({ config, model, cacheDirectory, start })
    yield* recorder.say(...training.warnings.map((message) => ({ type: 'warning', step, message }) as const))
    const { environment } = world
    const events = train({
      ...parts,
      ...training.dependencies,
      rewards: rewards.specs,
      environment,
      ...control,
    })
    yield* recorder.record(events, retentionOf(config, model), training.state)
  } catch (error) {
    recorder.fail(errorEvent(error))
    throw error
  }
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

/** Where training begins when not from nothing. */
interface TrainingStart {
  readonly checkpoint: Checkpoint
  /** The checkpoint is another run's. */
  readonly isFork: boolean
}

/** Everything a run holds while it trains. */
interface Training extends Disposable {
  readonly dependencies: Pick<TrainDependencies, 'config' | 'policy' | 'state' | 'isFork'>
  /** What could not be taken over from a checkpoint, in sentences. */
  readonly warnings: readonly string[]
  readonly state: () => TrainedState
}

interface TrainingSetup {
  readonly config: RunConfig
  readonly model: ModelFolder
  readonly cacheDirectory: string
  readonly start: TrainingStart | null
}

async function openTraining({ config, model, cacheDirectory, start }: TrainingSetup): Promise<Training> {
  const adapter = start === null ? firstAdapter(config, model) : adapterOf(start.checkpoint)
  const policy = await openPolicy(config, model, cacheDirectory, adapter)
  const warnings = start === null ? adapter.warnings : restore(policy, config, start)
  return {
    dependencies: {
      config,
      policy,
      ...(start === null ? {} : { state: start.checkpoint.trainer, isFork: start.isFork }),
    },
    warnings,
    state: () => ({
      lora: adapter.lora,
      baseModel: adapter.baseModel,
      actor: policy.adapterTensors('actor'),
      reference: policy.adapterTensors('reference'),
      critic: null,
      optimizer: config.checkpoints.saveOptimizer ? policy.optimizerState() : null,
      model: config.checkpoints.loraOnly ? null : model.directory,
    }),
    [Symbol.dispose]: () => policy[Symbol.dispose](),
  }
}

/** A resume takes over everything, a fork what its config says. */
function restore(
  policy: OrtPolicy,
  { checkpoints }: RunConfig,
  { checkpoint, isFork }: TrainingStart,
): readonly string[] {
  const { optimizer: loadOptimizer, ...overwrite } = checkpoints.load
  const restored = stateToRestore(checkpoint, isFork ? { loadOptimizer, ...overwrite } : exactResume)
  if (restored.reference !== null) policy.restoreAdapter('reference', restored.reference)
  if (restored.optimizer !== null) policy.restoreOptimizer(restored.optimizer)
  return restored.warnings
}

/** All but the policy: cheap, and wrong configs end here before weights are touched. */
async function readParts(
  config: RunConfig,
  folder: ModelFolder,
): Promise<Omit<TrainDependencies, 'config' | 'policy' | 'rewards'>> {
  const text = loadTokenizer(folder.directory)
  const { train, heldOut } = await readRunData(config.data)
  return {
    algorithm: algorithmById(config.algorithm.id).configure(config.algorithm.settings),
    trainRows: train,
    heldOutRows: heldOut,
    ...text,
    stopIds: stopIdsOf(folder, text),
    learningRateAt: learningRates(config),
  }
}

function learningRates({ optimization }: RunConfig): TrainDependencies['learningRateAt'] {
  const { learningRate, criticLearningRate, warmupProportion } = optimization
  const schedule = scheduleById(optimization.schedule)
  return (update, updates) => {
    const plan = { totalSteps: updates, warmupProportion }
    return {
      actor: schedule.rateAt(update, learningRate, plan),
      critic: schedule.rateAt(update, criticLearningRate ?? learningRate, plan),
    }
  }
}

const adapterOf = ({ lora, baseModel, actor }: Checkpoint): AdapterStart => ({
  lora,
  baseModel,
  tensors: actor,
  warnings: [],
})

async function openPolicy(
  { rollout, optimization, seed, device }: RunConfig,
  folder: ModelFolder,
  cacheDirectory: string,
  { lora, tensors }: AdapterStart,
): Promise<OrtPolicy> {
  const prepare = rollout.precision === 'int8' ? asInt8Source : asFloat32Source
  const { beta1, beta2, epsilon, weightDecay, memory } = optimization
  return createOrtPolicy({
    source: await prepare(folder, cacheDirectory),
    device: await chooseDevice(device),
    lora,
    loraSeed: seed,
    ...(tensors === null ? {} : { adapter: tensors }),
    rolloutPrecision: rollout.precision,
    activations: memory,
    optimizer: { beta1, beta2, epsilon, weightDecay },
    maxRows,
  })
}

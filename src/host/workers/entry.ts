/**
 * The composition root of training: builds policy, rewards and algorithm from a run's config, lets `rl` train, and keeps
 * the run's folder: every event in the log, checkpoints whole. Reading guide of this folder:
 *
 *   entry.ts            (here) one run, from config to finished checkpoint
 *   trainingProcess.ts  the process it happens in; launch.ts starts it; messages.ts is what they say to each other
 *   model.ts            a model opened for questions: scoring.ts, completing.ts
 *   bench.ts, selftest.ts  what this machine can do, and whether it computes rightly
 */
import { AppError } from '#shared/errors.ts'
import type { CheckpointDueEvent, RunEvent } from '#shared/events.ts'
import { parseRunConfig, rewardName, type RunConfig } from '#shared/runConfig.ts'
import { linearNames, type LinearName, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { scheduleById } from '#engine/optimizers/registry.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { builtInReward } from '#rl/environments/registry.ts'
import type { TrainDependencies } from '#rl/training/plan.ts'
import { train } from '#rl/training/train.ts'
import {
  loadCheckpoint,
  pruneCheckpoints,
  saveCheckpoint,
  type Checkpoint,
} from '../artifacts/checkpoints.ts'
import { readDataSet } from '../artifacts/dataSet.ts'
import { openEventLog, type EventLog } from '../artifacts/eventLog.ts'
import { asInt8Source } from '../artifacts/int8Cache.ts'
import { openModelFolder, type ModelFolder } from '../artifacts/modelFolder.ts'
import { lockRun, runPaths } from '../artifacts/runFolder.ts'
import { readJsonObject } from '../artifacts/strictJson.ts'
import { loadTokenizer } from '../artifacts/tokenizerFolder.ts'
import { asFloat32Source } from '../artifacts/weightCache.ts'
import { stopIdsOf } from './completing.ts'
import type { TrainingRequest } from './messages.ts'
import { chooseDevice, openAdapter } from './model.ts'

/** Rows generated together at most: more cost memory and bring a CPU nothing. */
const maxRows = 64

/**
 * Trains the run in a folder until its end, or until `stop` says so: then after the current step. Yields what happens
 * as it happens; a failure is in the log before it is thrown.
 */
export async function* runTraining(request: TrainingRequest, stop: AbortSignal): AsyncGenerator<RunEvent> {
  const paths = runPaths(request.runDirectory)
  using _lock = lockRun(request.runDirectory)
  using log = openEventLog(paths.events)
  try {
    const config = parseRunConfig(readJsonObject(paths.config, 'config/invalid'))
    const checkpoint = request.resumeFrom === null ? null : loadCheckpoint(request.resumeFrom)
    if (log.length > 0) log.rewind(checkpoint?.events ?? 0)
    yield* recorded(log, [preparing(config, checkpoint)])
    using training = await openTraining(config, request.cacheDirectory, checkpoint)
    yield* recordRun({ request, log, training, config }, stop)
  } catch (error) {
    log.append(errorEvent(error))
    log.flush()
    throw error
  }
}

const preparing = (config: RunConfig, checkpoint: Checkpoint | null): RunEvent => ({
  type: 'status',
  phase: 'preparing',
  step: checkpoint?.trainer.step ?? 0,
  steps: config.steps ?? 0,
})

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

function* recorded(log: EventLog, events: readonly RunEvent[]): Generator<RunEvent> {
  for (const event of events) {
    log.append(event)
    yield event
  }
}

interface RecordedRun {
  readonly request: TrainingRequest
  readonly log: EventLog
  readonly training: Training
  readonly config: RunConfig
}

/** Writes down what the loop says and answers its wish for checkpoints. */
async function* recordRun(run: RecordedRun, stop: AbortSignal): AsyncGenerator<RunEvent> {
  const { log, training } = run
  let heldOut: { readonly step: number; readonly reward: number | null } = { step: -1, reward: null }
  for await (const event of train({ ...training.dependencies, signal: stop })) {
    if (event.type === 'evaluation') heldOut = { step: event.step, reward: event.metrics.eval_reward ?? null }
    if (event.type !== 'checkpoint-due') yield* recorded(log, [event])
    else
      yield* recorded(log, [
        await keepCheckpoint(run, event, heldOut.step === event.step ? heldOut.reward : null),
      ])
  }
  log.flush()
}

async function keepCheckpoint(
  { request, log, training, config }: RecordedRun,
  { step, state }: CheckpointDueEvent,
  reward: number | null,
): Promise<RunEvent> {
  const { policy, lora, baseModel } = training
  log.flush()
  const { directory } = await saveCheckpoint(request.runDirectory, {
    trainer: state,
    events: log.length,
    reward,
    lora,
    baseModel,
    actor: policy.adapterTensors('actor'),
    reference: policy.adapterTensors('reference'),
    optimizer: policy.optimizerState(),
  })
  pruneCheckpoints(request.runDirectory, config.checkpoints.keep)
  return { type: 'checkpoint-saved', step, directory, reward, sizeBytes: 0 }
}

/** Everything a run holds while it trains. */
interface Training extends Disposable {
  readonly dependencies: TrainDependencies
  readonly policy: OrtPolicy
  readonly lora: LoraConfig
  readonly baseModel: string | null
}

/** The adapter's form and values a run begins or goes on with. */
interface AdapterStart {
  readonly lora: LoraConfig
  readonly baseModel: string | null
  /** null: fresh. */
  readonly tensors: readonly NamedTensor[] | null
}

async function openTraining(
  config: RunConfig,
  cacheDirectory: string,
  checkpoint: Checkpoint | null,
): Promise<Training> {
  const folder = openModelFolder(config.model)
  const parts = readParts(config, folder)
  const form = checkpoint === null ? firstAdapter(config, folder) : adapterOf(checkpoint)
  // Dropout is how a run trains, whatever the adapter it goes on from was trained with.
  const start = { ...form, lora: { ...form.lora, dropout: config.adapter.dropout } }
  const policy = await openPolicy(config, folder, cacheDirectory, start)
  if (checkpoint !== null) {
    policy.restoreAdapter('reference', checkpoint.reference)
    policy.restoreOptimizer(checkpoint.optimizer)
  }
  const state = checkpoint === null ? {} : { state: checkpoint.trainer }
  return {
    dependencies: { config, policy, ...parts, ...state },
    policy,
    lora: start.lora,
    baseModel: start.baseModel,
    [Symbol.dispose]: () => policy[Symbol.dispose](),
  }
}

/** All but the policy: cheap, and wrong configs end here before weights are touched. */
function readParts(config: RunConfig, folder: ModelFolder): Omit<TrainDependencies, 'config' | 'policy'> {
  const text = loadTokenizer(folder.directory)
  return {
    algorithm: algorithmById(config.algorithm.id).configure(config.algorithm.settings),
    rewards: config.rewards.map((entry) => ({
      function: builtInReward(entry.function, entry.settings),
      weight: entry.weight,
      name: rewardName(entry),
    })),
    trainRows: readDataSet(config.data.train),
    heldOutRows: config.data.heldOut === null ? [] : readDataSet(config.data.heldOut),
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
})

function firstAdapter({ adapter }: RunConfig, folder: ModelFolder): AdapterStart {
  if (adapter.initial !== null) {
    const { config, baseModel, tensors } = openAdapter(adapter.initial, folder)
    return { lora: config, baseModel, tensors }
  }
  const { rank, alpha, rsLora, targets } = adapter
  return { lora: { rank, alpha, rsLora, targets: targetNames(targets) }, baseModel: null, tensors: null }
}

/** The config's short names in the model's order. */
function targetNames(targets: RunConfig['adapter']['targets']): readonly LinearName[] {
  if (targets === 'all-linear') return linearNames
  return linearNames.filter((name) => targets.some((target) => name === `${target}_proj`))
}

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

/** Opens the policy of a stage with everything needed to train it, from a config or a checkpoint. */
import path from 'node:path'
import { holdsTensors, type Device } from '#shared/device.ts'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { invalidConfig } from '#shared/errors.ts'
import { heldIn, roundedTo } from '#shared/precision.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { Teacher } from '#engine/policy.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { readCheck } from '#host/devices/deviceRecords.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { TrainDependencies, TrainedModel } from '#rl/training/dependencies.ts'
import { exactResume, stateToRestore } from '#host/runs/checkpointRestore.ts'
import type { Checkpoint, CriticState } from '#host/models/checkpoints.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openText } from '#host/models/completing.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { openModel } from '#host/models/openModel.ts'
import { openingTeacher, teachingOf } from '#host/models/teacher.ts'
import { countBeside } from '#host/outboundRequests.ts'
import { openRemotePolicy } from '#host/remote/openRemotePolicy.ts'
import type { RemotePolicy } from '#host/remote/remotePolicy.ts'
import { openTeacherServer } from '#host/remote/teacher.ts'
import { firstAdapter, withReference, type AdapterStart, type StartWithReference } from './adapterStart.ts'
import type { TrainedState } from './recording.ts'
import type { Stage, StageBeginning, TrainingStart } from './stages.ts'

/** Rows generated together at most: more cost memory and bring a CPU nothing. */
export const maxRows = 64

/** Resources that a run holds while it trains. */
export interface Training extends AsyncDisposable {
  readonly dependencies: TrainDependencies
  /** Sentences on what could not be taken over from a checkpoint. */
  readonly warnings: readonly string[]
  readonly state: () => Promise<TrainedState>
  /** The policy's adapter becomes these, of the same LoRA config. Errors: AppError 'adapter/invalid'. */
  readonly take: (adapter: readonly NamedTensor[]) => void
}

export interface TrainingSetup {
  /** Name of the run's adapters on a rollout server; no other living process uses it. */
  readonly name: string
  readonly stage: Stage
  readonly model: ModelFolder
  readonly device: Device
  readonly cacheDirectory: string
  /** Consents of this machine; absent: no key is sent to a rollout server. */
  readonly consents?: string | undefined
  readonly begin: StageBeginning
}

export async function openTraining(setup: TrainingSetup): Promise<Training> {
  const { stage, model, device, cacheDirectory, begin } = setup
  const { config, model: text, code, schedule } = stage.parts
  const start = begin?.start ?? null
  const { start: form, reference } = beginWith(setup)
  // Dropout is how a run trains, whatever the adapter it goes on from was trained with.
  const adapter = { ...form, lora: { ...form.lora, dropout: config.adapter.dropout } }
  const hasCritic = code.algorithm.needs.values
  const { consents } = setup
  const hasAlternatives = code.algorithm.needs.likeliest > 0
  const opening = { model, device, cacheDirectory, consents, adapter, reference, hasCritic, hasAlternatives }
  const policy = await openPolicy(stage, opening)
  if (start === null && adapter.critic !== null) restoreCritic(policy, adapter.critic)
  const warnings = start === null ? adapter.warnings : restore(policy, stage, start, reference !== null)
  const acting = await openActing(policy, setup, adapter)
  return {
    dependencies: {
      ...stage.parts,
      model: { ...text, ...acting.model, device: device.kind },
      schedule: {
        ...schedule,
        stage: stage.place,
        ...(begin === null ? {} : { state: begin.state, isFork: start?.isFork ?? false }),
      },
    },
    warnings,
    state: async () => ({
      lora: adapter.lora,
      baseModel: adapter.baseModel,
      ...roundingOf(config),
      actor: await policy.adapterTensors('actor'),
      reference: await policy.adapterTensors('reference'),
      critic: hasCritic
        ? { adapter: await policy.adapterTensors('critic'), valueHead: policy.valueHead() }
        : null,
      optimizer: config.checkpoints.saveOptimizer ? await policy.optimizerState() : null,
      model: config.checkpoints.loraOnly ? null : model.directory,
    }),
    take: (tensors) => policy.restoreAdapter('actor', tensors),
    [Symbol.asyncDispose]: acting.close,
  }
}

/** Returns the rounding of the base, for the checkpoint. */
function roundingOf({ base }: RunConfig): Pick<TrainedState, 'base'> {
  const rounded = roundedTo(base.precision)
  return rounded === null ? {} : { base: rounded }
}

interface Acting {
  readonly model: Pick<TrainedModel, 'policy' | 'rolloutMetrics'>
  readonly close: () => Promise<void>
}

/** The policy as the run acts with it: here, or on a server. Errors: AppError 'server/…'; then the policy is disposed. */
async function openActing(policy: OrtPolicy, setup: TrainingSetup, adapter: AdapterStart): Promise<Acting> {
  try {
    const remote = await openRemote(policy, setup, adapter)
    const close = async () => {
      await remote?.[Symbol.asyncDispose]()
      policy[Symbol.dispose]()
    }
    if (remote === null) return { model: { policy }, close }
    return { model: { policy: remote, rolloutMetrics: () => remote.takeMetrics() }, close }
  } catch (error) {
    policy[Symbol.dispose]()
    throw error
  }
}

/** null where the run acts here, or not at all. */
async function openRemote(
  policy: OrtPolicy,
  { name, stage: { parts }, model, cacheDirectory, consents }: TrainingSetup,
  { lora, baseModel }: AdapterStart,
): Promise<RemotePolicy | null> {
  const { server: settings, maxStaleness: snapshots } = parts.config.rollout
  if (settings === null || parts.code.algorithm.experience !== 'rollout') return null
  return openRemotePolicy(policy, {
    settings,
    lora,
    baseModel,
    name,
    snapshots,
    tokenizer: parts.model.tokenizer,
    modelFolder: model.directory,
    keys: keysOf(consents),
    onRequest: (url) => {
      if (!isOnThisMachine(url)) countBeside(cacheDirectory, 'rollout')
    },
  })
}

/** A fork may name another reference; one that follows the policy is where the checkpoint has it. */
function beginWith({ stage, model, begin }: TrainingSetup): StartWithReference {
  const {
    config,
    code: { algorithm },
  } = stage.parts
  const start = begin?.start ?? null
  if (start === null) {
    const first = begin?.adapter ?? firstAdapter(config, model, algorithm.needs.values)
    return withReference(first, config, model)
  }
  const own = adapterOf(start.checkpoint)
  const { refreshSteps, refreshPasses } = config.reference
  const isMoved = refreshSteps !== null || refreshPasses !== null
  if (!start.isFork || isMoved) return { start: own, reference: null }
  // Moments are of the adapter as it is: it cannot grow.
  return withReference(own, { ...config, adapter: { ...config.adapter, mergeConfigs: false } }, model)
}

/** A resume takes over everything, a fork what its config says. */
function restore(
  policy: OrtPolicy,
  {
    parts: {
      config,
      code: { algorithm },
    },
  }: Stage,
  { checkpoint, isFork }: TrainingStart,
  hasReference: boolean,
): readonly string[] {
  const { optimizer: loadOptimizer, ...overwrite } = config.checkpoints.load
  const restored = stateToRestore(checkpoint, isFork ? { loadOptimizer, ...overwrite } : exactResume)
  if (restored.reference !== null && !hasReference) policy.restoreAdapter('reference', restored.reference)
  if (algorithm.needs.values && restored.critic !== null) restoreCritic(policy, restored.critic)
  // Moments of other parameters: a fork that goes on with a critic, or without one, has to begin anew.
  const isSame = algorithm.needs.values === (checkpoint.critic !== null)
  if (restored.optimizer === null) return restored.warnings
  if (!isSame) return [...restored.warnings, otherParameters]
  policy.restoreOptimizer(restored.optimizer)
  return restored.warnings
}

const otherParameters =
  'The optimizer starts fresh: the checkpoint was made by an algorithm that trains different parameters.'

function restoreCritic(policy: OrtPolicy, { adapter, valueHead }: CriticState): void {
  policy.restoreAdapter('critic', adapter)
  if (valueHead !== null) policy.restoreValueHead(valueHead)
}

export const adapterOf = ({
  lora,
  baseModel,
  actor,
}: Pick<Checkpoint, 'lora' | 'baseModel' | 'actor'>): AdapterStart => ({
  lora,
  baseModel,
  tensors: actor,
  critic: null,
  warnings: [],
})

const keysOf = (consents: string | undefined) => ({ consents: consents ?? null, environment: process.env })

interface PolicySetup extends Pick<TrainingSetup, 'model' | 'device' | 'cacheDirectory' | 'consents'> {
  readonly adapter: AdapterStart
  /** null: what the policy begins as. */
  readonly reference: readonly NamedTensor[] | null
  readonly hasCritic: boolean
  /** The loss reads log-probabilities of further tokens. */
  readonly hasAlternatives: boolean
}

/**
 * Opens the model that `reference.model` names, to score as the reference. Errors: AppError 'config/invalid' where its
 * vocabulary is another, and those of a model.
 */
async function openLocalTeacher(
  directory: string,
  student: ModelFolder,
  { device, cacheDirectory }: Pick<PolicySetup, 'device' | 'cacheDirectory'>,
): Promise<OrtPolicy> {
  const { tokenizer: own } = openText(student)
  const { config, theirs } = openingTeacher(directory, () => {
    const folder = openModelFolder(directory)
    return { config: folder.config, theirs: openText(folder).tokenizer }
  })
  const differs = Array.from({ length: own.vocabSize }, (_, id) => id).find(
    (id) => own.idToToken(id) !== theirs.idToToken(id),
  )
  if (differs !== undefined || config.vocabSize < own.vocabSize)
    throw invalidConfig(
      `The teacher ${path.basename(directory)} has another vocabulary than the model: it cannot tell how likely the model’s tokens are.`,
      'Set `reference.model` to a model of the same family.',
    )
  const { policy } = await openModel({
    directory,
    adapter: null,
    device,
    cacheDirectory,
    precision: 'f32',
    base: null,
    maxRows,
    tellsLikeliest: true,
  })
  return policy
}

/** Opens the teacher that a stage reads; undefined where it reads none. Errors: AppError 'server/…', 'config/invalid'. */
async function openTeacher(
  { config, code }: Stage['parts'],
  {
    model: student,
    consents,
    ...place
  }: Pick<PolicySetup, 'model' | 'device' | 'cacheDirectory' | 'consents'>,
): Promise<Teacher | undefined> {
  const { model: directory, server } = teachingOf(config, code.algorithm)
  if (directory !== null) return openLocalTeacher(directory, student, place)
  if (server === null) return undefined
  return openTeacherServer({
    settings: server,
    tokenizer: openText(student).tokenizer,
    keys: keysOf(consents),
    onRequest: () => {
      if (!isOnThisMachine(server.url)) countBeside(place.cacheDirectory, 'teacher')
    },
  })
}

async function openPolicy(
  { parts, contextLength: readingLimit }: Stage,
  setup: PolicySetup,
): Promise<OrtPolicy> {
  const { base, rollout, optimization, seed, contextLength } = parts.config
  const { model, device, cacheDirectory, adapter, reference, hasCritic, hasAlternatives } = setup
  const { lora, tensors } = adapter
  const teacher = await openTeacher(parts, setup)
  const rolloutPrecision = holdsTensors(device) ? 'f32' : rollout.precision
  const precisions = { base: heldIn(base.precision), rollout: rolloutPrecision, int8Form: int8Form(device) }
  const { beta1, beta2, epsilon, weightDecay, memory } = optimization
  return createOrtPolicy({
    source: await asPolicySource(model, precisions, cacheDirectory),
    device,
    lora,
    loraSeed: seed,
    critic: hasCritic,
    ...(hasAlternatives && { further: ['likeliest', 'alternatives'] as const }),
    ...(tensors === null ? {} : { adapter: tensors }),
    ...(reference === null ? {} : { reference }),
    ...(teacher === undefined ? {} : { teacher }),
    rolloutPrecision,
    replaysRoutes: rollout.routerReplay,
    activations: memory,
    products: base.products,
    memoryBytes: readCheck(device, cacheDirectory)?.memoryBytes ?? null,
    ...(contextLength === null ? {} : { contextLength }),
    readingLimit,
    optimizer: { beta1, beta2, epsilon, weightDecay },
    maxRows,
  })
}

/** The policy of a stage with everything that trains it, from a config or from a checkpoint. */
import type { RunConfig } from '#shared/runConfig.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { TrainDependencies } from '#rl/training/dependencies.ts'
import { exactResume, stateToRestore } from '../artifacts/checkpointRestore.ts'
import type { Checkpoint, CriticState } from '../artifacts/checkpoints.ts'
import { asInt8Source } from '../artifacts/int8Cache.ts'
import type { ModelFolder } from '../artifacts/modelFolder.ts'
import { asFloat32Source } from '../artifacts/weightCache.ts'
import { firstAdapter, type AdapterStart } from './adapterStart.ts'
import { chooseDevice } from './model.ts'
import type { TrainedState } from './recording.ts'
import type { Stage, StageBeginning, TrainingStart } from './stages.ts'

/** Rows generated together at most: more cost memory and bring a CPU nothing. */
export const maxRows = 64

/** Everything a run holds while it trains. */
export interface Training extends Disposable {
  readonly dependencies: TrainDependencies
  /** What could not be taken over from a checkpoint, in sentences. */
  readonly warnings: readonly string[]
  readonly state: () => TrainedState
}

export interface TrainingSetup {
  readonly stage: Stage
  readonly model: ModelFolder
  readonly cacheDirectory: string
  readonly begin: StageBeginning
}

export async function openTraining({
  stage,
  model,
  cacheDirectory,
  begin,
}: TrainingSetup): Promise<Training> {
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

export const adapterOf = ({
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

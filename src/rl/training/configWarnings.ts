/** Warnings about settings that work but are probably not intended. */
import { unwise } from '#shared/config/problems.ts'
import { deviceTitles, holdsTensors } from '#shared/device.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '../algorithms/types.ts'
import { groupSizeOf, type ModelFacts, readerOf } from './conflicts.ts'
import { pluginWarnings } from './pluginWarnings.ts'

type Parts = Pick<ConfiguredAlgorithm, 'id' | 'experience' | 'groupSize' | 'needs'>

export function configWarnings(config: RunConfig, algorithm: Parts, model: ModelFacts | null): Problem[] {
  return [
    ...rateWarnings(config),
    ...sizeWarnings(config, algorithm),
    ...samplingWarnings(config, algorithm),
    ...lengthWarnings(config),
    ...pluginWarnings(config),
    ...deviceWarnings(config),
    ...(model === null ? [] : contextWarnings(config, algorithm, model)),
    ...(model === null ? [] : expertWarnings(config, model)),
  ]
}

/** A device that holds tensors keeps one copy of the frozen weights for rollouts and learning. */
function deviceWarnings({ device, rollout }: RunConfig): Problem[] {
  const { kind } = device
  if (kind === 'auto' || !holdsTensors({ kind })) return []
  const title = deviceTitles[kind]
  return when(
    rollout.precision !== 'f32' && rollout.server === null,
    'rollout.precision',
    `${rollout.precision}, which has no effect on ${title}: rollouts and learning share the same weights there.`,
  )
}

/** Adapters are trained with 1e-5 to 1e-3; above this the policy is usually lost within a few steps. */
const highRate = 1e-2

function rateWarnings({ optimization, adapter, rewards }: RunConfig): Problem[] {
  const { learningRate, criticLearningRate, weightDecay, epsilon, epochs, warmupProportion } = optimization
  const isNew = adapter.initial === null || adapter.mergeConfigs
  const rate = (name: string, value: number | null) =>
    when(
      value !== null && value > highRate,
      `optimization.${name}`,
      `${value}, and above ${highRate} training an adapter usually destroys the policy within a few steps; 0.00001 to 0.001 is usual.`,
    )
  return [
    ...rate('learningRate', learningRate),
    ...rate('criticLearningRate', criticLearningRate),
    ...when(
      learningRate < 1e-9,
      'optimization.learningRate',
      `${learningRate}, too little to change anything in f32.`,
    ),
    ...when(weightDecay > 1, 'optimization.weightDecay', `${weightDecay}; 0 to 0.1 is usual.`),
    ...when(
      epsilon > 1e-3,
      'optimization.epsilon',
      `${epsilon}, which outweighs small gradients; 1e-8 is usual.`,
    ),
    ...when(
      epochs > 16,
      'optimization.epochs',
      `${epochs}; the last ones learn from completions of an outdated policy.`,
    ),
    ...when(
      warmupProportion === 1,
      'optimization.warmupProportion',
      '1; the learning rate is reached only at the last update.',
    ),
    ...when(
      isNew && adapter.alpha / adapter.rank > 64,
      'adapter.alpha',
      `${adapter.alpha}, ${round(adapter.alpha / adapter.rank)} times \`adapter.rank\`: the adapter is scaled by that factor; 1 to 4 is usual.`,
    ),
    ...rewards.flatMap(({ weight }, i) =>
      when(
        Math.abs(weight) > 1000,
        `rewards[${i}].weight`,
        `${weight}; other rewards hardly count in comparison.`,
      ),
    ),
  ]
}

function sizeWarnings(config: RunConfig, algorithm: Parts): Problem[] {
  const { promptsPerStep } = config.rollout
  const size = groupSizeOf(config, algorithm)
  return [
    ...when(
      size > 256,
      'rollout.groupSize',
      `${size}; 4 to 64 is usual, and the time per step grows in proportion.`,
    ),
    ...when(
      algorithm.needs.mismatched && promptsPerStep < 2,
      'rollout.promptsPerStep',
      `${promptsPerStep}; the algorithm measures answers against those of other rows of the step, of which there are none; 8 or more is usual.`,
    ),
    ...when(
      promptsPerStep > 1024,
      'rollout.promptsPerStep',
      `${promptsPerStep}; a step is ${promptsPerStep * size} trajectories.`,
    ),
    ...when(
      config.shownTrajectories > 1000,
      'shownTrajectories',
      `${config.shownTrajectories}; every step logs that many whole texts.`,
    ),
    ...when(
      (config.device.threads ?? 1) > 256,
      'device.threads',
      `${config.device.threads}; more threads than processors only slow each other down.`,
    ),
    ...when(
      config.optimization.tokenBudget !== null && config.optimization.tokenBudget > 1_000_000,
      'optimization.tokenBudget',
      `${config.optimization.tokenBudget}; the memory of a step grows with it.`,
    ),
  ]
}

function samplingWarnings({ rollout }: RunConfig, { id, experience, needs }: Parts): Problem[] {
  if (experience !== 'rollout') {
    const given = `which has no effect: ${id} learns from given answers`
    return [
      ...when(
        rollout.replayShare > 0,
        'rollout.replayShare',
        `${rollout.replayShare}, ${given}, which nothing solves.`,
      ),
      ...when(rollout.routerReplay, 'rollout.routerReplay', `true, ${given}, which were not sampled.`),
    ]
  }
  const { temperature, repetitionPenalty, mismatchCap } = rollout
  return [
    ...when(
      temperature > 2,
      'rollout.temperature',
      `${temperature}; completions are close to noise; 0.6 to 1.2 is usual.`,
    ),
    ...when(
      temperature < 0.1,
      'rollout.temperature',
      needs.rewards
        ? `${temperature}; completions of a group are nearly identical, which leaves nothing to learn.`
        : `${temperature}; distributions are compared at this temperature, where one token has nearly all probability; 0.6 to 1.2 is usual.`,
    ),
    ...when(
      repetitionPenalty > 2,
      'rollout.repetitionPenalty',
      `${repetitionPenalty}; above 1.5 text falls apart.`,
    ),
    ...when(mismatchCap > 100, 'rollout.mismatchCap', `${mismatchCap}; weights are almost never capped.`),
  ]
}

function lengthWarnings({ steps, passes, evaluation, checkpoints }: RunConfig): Problem[] {
  const never = (name: string, every: number) =>
    when(
      steps !== null && every > steps,
      name,
      `${every}, and the run has ${steps} steps: it never happens during the run.`,
    )
  return [
    ...when(
      steps !== null && steps > 100_000,
      'steps',
      `${steps}; a run of more than 100000 steps takes weeks.`,
    ),
    ...when(steps === null && passes > 100, 'passes', `${passes}; more than a few overfit the rows.`),
    ...(evaluation.every > 1000 ? never('evaluation.every', evaluation.every) : []),
    ...(checkpoints.every > 1000 ? never('checkpoints.every', checkpoints.every) : []),
  ]
}

function contextWarnings(
  { data, rollout, environment }: RunConfig,
  { experience }: Parts,
  model: ModelFacts,
): Problem[] {
  const { contextLength } = model
  const completion = experience === 'rollout' ? rollout.maxNewTokens : 0
  const room = contextLength - completion
  return [
    ...when(
      data.maxPromptTokens !== null && data.maxPromptTokens > room,
      'data.maxPromptTokens',
      `${data.maxPromptTokens}, but of ${readerOf(model)}’s ${contextLength} tokens only ${room} are left for the prompt${completion > 0 ? ` after \`rollout.maxNewTokens\` (${completion})` : ''}: longer prompts are left out.`,
    ),
    ...when(
      environment?.contextLength != null && environment.contextLength > contextLength,
      'environment.contextLength',
      `${environment?.contextLength}, but ${readerOf(model)} reads ${contextLength} tokens.`,
    ),
  ]
}

const expertWarnings = ({ rollout }: RunConfig, { experts }: ModelFacts): Problem[] =>
  when(
    rollout.routerReplay && experts === null,
    'rollout.routerReplay',
    'true, which has no effect: the model has no experts among which a router chooses.',
  )

interface StageParts {
  readonly config: RunConfig
  readonly algorithm: Parts
}

/** Warns of a teacher that no stage reads which has it: it is asked only for what an algorithm reads of the reference. */
export function teacherWarnings({ config, algorithm }: StageParts, stages: readonly StageParts[]): Problem[] {
  const { model, server } = config.reference
  const isRead = stages.some(
    ({ config: { reference }, algorithm: { needs } }) =>
      needs.reference && reference.model === model && reference.server?.url === server?.url,
  )
  return when(
    !isRead && (model !== null || server !== null),
    model === null ? 'reference.server' : 'reference.model',
    `${model ?? server?.url}, which has no effect: with these settings ${algorithm.id} reads no reference policy.`,
  )
}

const when = (isSo: boolean, path: string, message: string): Problem[] =>
  isSo ? [unwise(path, message)] : []
const round = (value: number): string => String(Number(value.toPrecision(3)))

/** Errors about settings that are each in range but conflict with each other. */
import { conflict, refuse } from '#shared/config/problems.ts'
import { computesIn, devicesFor, type DeviceOption } from '#shared/device.ts'
import type { Problem } from '#shared/errors.ts'
import { roundedTo } from '#shared/precision.ts'
import { isRewarded, type RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '../algorithms/types.ts'
import { replaysOf } from './replay.ts'

type Parts = Pick<ConfiguredAlgorithm, 'id' | 'experience' | 'groupSize' | 'needs' | 'acceptance'>

/**
 * Returns the conflicts; empty if there are none. `kind` is the device that `auto` means, or `auto` while nobody has
 * looked.
 */
export function configConflicts(
  config: RunConfig,
  algorithm: Parts,
  kind: DeviceOption = config.device.kind,
): Problem[] {
  const ofExperience = algorithm.experience === 'rollout' ? rolloutConflicts : exampleConflicts
  return [
    ...ofExperience(config, algorithm),
    ...batchConflicts(config, algorithm),
    ...minibatchConflicts(config, algorithm),
    ...teacherConflicts(config, algorithm),
    ...referenceConflicts(config),
    ...precisionConflicts(config, kind),
  ]
}

export interface FittingOptions {
  /** Stage that the config belongs to. */
  readonly stage?: number | null
  /** Device as in `configConflicts`. */
  readonly kind?: DeviceOption
}

/** Errors: ConfigError, listing every conflict. */
export function requireFitting(
  config: RunConfig,
  algorithm: Parts,
  model: ModelFacts | null = null,
  { stage = null, kind = config.device.kind }: FittingOptions = {},
): void {
  const ofModel = model === null ? [] : modelConflicts(config, algorithm, model)
  refuse([...configConflicts(config, algorithm, kind), ...ofModel], stage)
}

/** Facts about the model that the settings must be consistent with. */
export interface ModelFacts {
  /** The longest sequence that can be read, prompt and completion together. */
  readonly contextLength: number
  /** Name of the teacher that sets this limit, since it reads less than the model; absent: the limit is the model's own. */
  readonly teacher?: string | undefined
  readonly hiddenSize: number
  /** Mixture of experts; null where the model has none. */
  readonly experts: object | null
}

/** The longest sequence, and who sets this limit. */
export type ReadingLimit = Pick<ModelFacts, 'contextLength' | 'teacher'>

/** Names what reads no more than `contextLength` tokens. */
export const readerOf = ({ teacher }: Pick<ReadingLimit, 'teacher'>): string =>
  teacher === undefined ? 'the model' : `the teacher ${teacher}`

/** Further advice where a teacher is what reads no more. */
export const orOther = ({ teacher }: Pick<ReadingLimit, 'teacher'>): string =>
  teacher === undefined ? '' : ' Or set `reference.model` to a teacher that reads more.'

/** Settings that this model does not support. */
function modelConflicts(
  { adapter, rollout }: RunConfig,
  { experience }: Parts,
  { contextLength, hiddenSize, teacher }: ModelFacts,
): Problem[] {
  const isOwnRank = adapter.initial === null || adapter.mergeConfigs
  return [
    ...when(
      isOwnRank && adapter.rank > hiddenSize,
      'adapter.rank',
      `${adapter.rank}, but the model's hidden size is ${hiddenSize}, and an update cannot have a higher rank.`,
    ),
    ...when(
      experience === 'rollout' && rollout.maxNewTokens >= contextLength,
      'rollout.maxNewTokens',
      `${rollout.maxNewTokens}, but ${readerOf({ teacher })} reads ${contextLength} tokens including the prompt: at most ${contextLength - 1} can be generated.${orOther({ teacher })}`,
    ),
  ]
}

/** Completions per prompt; 1 or a pair for given answers. */
export const groupSizeOf = (
  { rollout }: Pick<RunConfig, 'rollout'>,
  { experience, groupSize, needs }: Omit<Parts, 'acceptance'>,
): number => (experience === 'rollout' ? (rollout.groupSize ?? groupSize.default) : needs.unit)

function rolloutConflicts({ rewards, environment, data, rollout }: RunConfig, algorithm: Parts): Problem[] {
  const { id, groupSize } = algorithm
  const size = groupSizeOf({ rollout }, algorithm)
  return [
    ...sourceConflicts({ rewards, environment, rollout }, algorithm),
    ...when(
      typeof data.train !== 'string' && environment === null,
      'data.train',
      'episodes need an environment; without one, give a path.',
    ),
    ...when(
      size < groupSize.minimum,
      'rollout.groupSize',
      `${size}, but ${id} compares at least ${groupSize.minimum} completions per prompt.`,
    ),
    ...when(
      rollout.minNewTokens > rollout.maxNewTokens,
      'rollout.minNewTokens',
      `${rollout.minNewTokens}, but \`rollout.maxNewTokens\` truncates completions at ${rollout.maxNewTokens}.`,
    ),
    ...when(
      rollout.agent !== null && (rollout.workflow !== null || environment !== null),
      'rollout.agent',
      'an agent acts in the episodes itself: leave out `rollout.workflow` and `environment`.',
    ),
    ...(rollout.server === null ? [] : serverConflicts(rollout)),
    ...(rollout.maxStaleness === 0 ? [] : stalenessConflicts(rollout, algorithm)),
  ]
}

/** Rewards have to come from somewhere, where the algorithm reads any. */
function sourceConflicts(
  config: Pick<RunConfig, 'rewards' | 'environment' | 'rollout'>,
  { id, needs }: Parts,
): Problem[] {
  if (!needs.rewards || isRewarded(config)) return []
  return [
    missing(
      'rewards',
      `${id} learns from rewards, but there is neither a reward function nor an environment.`,
    ),
  ]
}

const noTeacher = (id: string): Problem =>
  missing(
    'reference.model',
    `${id} learns from a teacher: name a model with the same vocabulary, or its address in \`reference.server\`.`,
  )

function teacherConflicts({ reference, rollout }: RunConfig, { id, needs }: Parts): Problem[] {
  const { model, server, policy, adapter, refreshSteps, refreshPasses } = reference
  if (model === null && server === null) return needs.teacher ? [noTeacher(id)] : []
  const others = [adapter, refreshSteps, refreshPasses, model === null ? null : server]
  return [
    ...when(
      policy === 'base' || others.some((other) => other !== null),
      model === null ? 'reference.server' : 'reference.model',
      'it is the reference by itself: `reference.policy` has to be “start”, and `reference.adapter`, `reference.refreshSteps`, `reference.refreshPasses` and any other teacher null.',
    ),
    ...when(
      server !== null && rollout.temperature !== 1,
      'reference.server',
      'a server tells log-probabilities at temperature 1: set `rollout.temperature` to 1, or name a model on this machine in `reference.model`.',
    ),
  ]
}

const missing = (path: string, message: string): Problem => ({ path, code: 'missing', message, stage: null })

/** A server returns log-probabilities of the filtered distribution, which is not what the learner computes. */
function serverConflicts({
  topK,
  topP,
  minP,
  repetitionPenalty,
  precision,
  routerReplay,
}: RunConfig['rollout']): Problem[] {
  const filters = [
    { name: 'topK', value: topK, off: 0 },
    { name: 'topP', value: topP, off: 1 },
    { name: 'minP', value: minP, off: 0 },
    { name: 'repetitionPenalty', value: repetitionPenalty, off: 1 },
  ]
  return [
    ...filters.flatMap(({ name, value, off }) =>
      when(
        value !== off,
        `rollout.${name}`,
        `${value}, but a \`rollout.server\` returns correct log-probabilities only without filters: it must be ${off}.`,
      ),
    ),
    ...when(
      precision !== 'f32',
      'rollout.precision',
      `${precision}, but a \`rollout.server\` generates with its own precision: it must be f32.`,
    ),
    ...when(
      routerReplay,
      'rollout.routerReplay',
      'true, but a `rollout.server` does not say which experts it chose: it must be false.',
    ),
  ]
}

function stalenessConflicts(
  { maxStaleness, server, mismatchCorrection, minNewTokens, replayShare }: RunConfig['rollout'],
  { acceptance }: Parts,
): Problem[] {
  return [
    ...when(
      server === null,
      'rollout.maxStaleness',
      `${maxStaleness}, but this machine cannot generate while it learns: without a \`rollout.server\` it must be 0.`,
    ),
    ...when(
      acceptance !== null,
      'rollout.maxStaleness',
      `${maxStaleness}, but with \`dynamicSampling\` the prompts of a step follow from the rewards of those before: it must be 0.`,
    ),
    ...when(
      replayShare > 0,
      'rollout.maxStaleness',
      `${maxStaleness}, but with \`rollout.replayShare\` the prompts of a step follow from the rewards of those before: it must be 0.`,
    ),
    ...when(
      mismatchCorrection === 'off',
      'rollout.mismatchCorrection',
      `off, but with \`rollout.maxStaleness\` ${maxStaleness} completions come from older policies, which only importance weights correct: auto or on.`,
    ),
    ...when(
      minNewTokens > 0,
      'rollout.minNewTokens',
      `${minNewTokens}, but with \`rollout.maxStaleness\` ${maxStaleness} the log-probabilities of the first tokens would be missing: it must be 0.`,
    ),
  ]
}

const exampleConflicts = ({ data }: RunConfig, { id }: Parts): Problem[] =>
  when(
    typeof data.train !== 'string',
    'data.train',
    `${id} learns from given answers, which come from a file; episodes have none.`,
  )

/** Maximum number of trajectories held in memory at once. */
const maxTrajectories = 1_000_000

function batchConflicts(config: RunConfig, algorithm: Parts): Problem[] {
  const { promptsPerStep, replayShare } = config.rollout
  const size = groupSizeOf(config, algorithm)
  return [
    ...when(
      promptsPerStep * size > maxTrajectories,
      'rollout.promptsPerStep',
      `${promptsPerStep}, which with ${size} completions each makes ${promptsPerStep * size} trajectories in a step: the maximum is ${maxTrajectories}.`,
    ),
    ...when(
      replayShare > 0 && replaysOf(config.rollout) === 0,
      'rollout.replayShare',
      `${replayShare} of ${promptsPerStep} prompts per step is less than one prompt: it must be at least ${(1 / promptsPerStep).toPrecision(2)}.`,
    ),
  ]
}

/** If possible, the last update of a pass should not use fewer trajectories than the others. */
function minibatchConflicts(config: RunConfig, algorithm: Parts): Problem[] {
  const { minibatchSize: size } = config.optimization
  if (size === null) return []
  const { promptsPerStep } = config.rollout
  const perPrompt = groupSizeOf(config, algorithm)
  const { unit } = algorithm.needs
  const all = promptsPerStep * perPrompt
  return [
    ...when(
      size % unit !== 0,
      'optimization.minibatchSize',
      `${size}, but the algorithm needs a multiple of ${unit}, since a chosen and a rejected answer belong together.`,
    ),
    ...when(
      size > all || all % size !== 0,
      'optimization.minibatchSize',
      `${size}, which does not divide the ${all} trajectories of a step (\`rollout.promptsPerStep\` ${promptsPerStep} × ${perPrompt} each).`,
    ),
  ]
}

function referenceConflicts({ reference }: RunConfig): Problem[] {
  const { policy, refreshSteps, refreshPasses, mixing, adapter } = reference
  const isRefreshed = refreshSteps !== null || refreshPasses !== null
  return [
    ...when(
      policy === 'base' && adapter !== null,
      'reference.adapter',
      'with `reference.policy` “base” divergence is measured from the model without an adapter; choose one of the two.',
    ),
    ...when(
      policy === 'base' && isRefreshed,
      'reference.policy',
      '“base”, which never changes, so `reference.refreshSteps` and `reference.refreshPasses` must be null.',
    ),
    ...when(
      refreshSteps !== null && refreshPasses !== null,
      'reference.refreshSteps',
      'together with `reference.refreshPasses`: only one of them may say when the reference moves.',
    ),
    ...when(
      mixing !== 1 && !isRefreshed,
      'reference.mixing',
      `${mixing}, but neither \`reference.refreshSteps\` nor \`reference.refreshPasses\` says when the reference moves.`,
    ),
  ]
}

const autoOnCpu =
  '`device.kind` is auto, which takes the CPU here: let such a device pass its check first, or name one in `device.kind`.'

const precisionConflicts = ({ base, rollout, device }: RunConfig, kind: DeviceOption): Problem[] => [
  ...when(
    roundedTo(base.precision) !== null && rollout.precision !== 'f32',
    'rollout.precision',
    `${rollout.precision}, but with \`base.precision\` ${base.precision} rollouts use the quantised base: it must be f32.`,
  ),
  ...when(
    kind !== 'auto' && !computesIn(kind, base.precision),
    'base.precision',
    `${base.precision}, which needs ${devicesFor(base.precision)}; ${device.kind === 'auto' ? autoOnCpu : `\`device.kind\` is ${device.kind}.`}`,
  ),
]

const when = (isSo: boolean, path: string, message: string): Problem[] =>
  isSo ? [conflict(path, message)] : []

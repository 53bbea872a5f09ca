/** The numbers that follow from a run's config and data. */
import type { GenerateOptions, SamplingOptions } from '#engine/policy.ts'
import type { TrainerState } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { EncodedExamples } from '../rollout/examples.ts'
import type { EncodedPrompts } from '../rollout/prompts.ts'
import { rowOrder } from '../rollout/rowOrder.ts'
import type { WeightLimit } from './samplingMismatch.ts'
import { aheadSource, type AheadPlan } from './aheadSource.ts'
import { groupSizeOf, requireFitting } from './conflicts.ts'
import type { PlanningParts, TrainDependencies, ExperienceSource, TrainedModel } from './dependencies.ts'
import { examplesOf, exampleSource } from './exampleSource.ts'
import type { ScoringOptions } from './experience.ts'
import { type ActingPolicy, maxTurnsOf, planRollOut, promptsOf, type RollOut } from './rollOut.ts'
import { scriptSource } from './scriptSource.ts'
import { rolloutSource } from './rolloutSource.ts'
import { noUpdates } from './updateGuard.ts'

/** Plan of a stage: everything that follows from dependencies and data and is fixed for the whole stage. */
export interface TrainPlan {
  readonly source: ExperienceSource
  /** Steps of the whole run, all stages together. */
  readonly steps: number
  /** Steps completed when the stage begins and when it ends. */
  readonly firstStep: number
  readonly lastStep: number
  readonly stage: number
  readonly isLastStage: boolean
  /** Optimizer updates of a step when every trajectory takes part. */
  readonly updatesPerStep: number
  readonly rollOut: RollOut
  readonly correctMismatch: boolean
  /** The policy whose log-probabilities are the reference's. */
  readonly referenceRole: ScoringOptions['referenceRole']
}

export const mismatchLimitOf = ({ rollout }: RunConfig): WeightLimit => ({
  cap: rollout.mismatchCap,
  mode: rollout.mismatchMode,
})

export const initialState: TrainerState = {
  step: 0,
  stage: 0,
  promptsDrawn: 0,
  updates: 0,
  tokens: 0,
  updateHistory: noUpdates,
  isScored: false,
}

/** State in which a stage begins after the one before it. */
export const stageState = ({ step, tokens }: TrainerState, stage: number): TrainerState => ({
  ...initialState,
  step,
  stage,
  tokens,
})

/** Errors: `config/invalid` or `data/invalid` when the parts do not fit together. */
export function planTraining(dependencies: TrainDependencies): TrainPlan {
  const { config, model, code, schedule } = dependencies
  const { algorithm } = code
  requireFitting(config, algorithm)
  const decode = (ids: Iterable<number>) => model.tokenizer.decode(ids, { skipSpecialTokens: true })
  const generate: GenerateOptions = {
    role: 'actor',
    sampling: samplingOptions({ config, stopIds: model.stopIds }),
    decode,
  }
  const isRollout = algorithm.experience === 'rollout'
  const acting = isRollout ? code : { ...code, environment: null, workflow: null }
  const rollOutAs = (policy: ActingPolicy, signal?: AbortSignal) => {
    const own = signal === undefined ? generate : { ...generate, signal }
    return planRollOut(
      { config, model: { ...model, policy }, code: acting },
      { policy, generate: own, decode },
    )
  }
  const rollOut = rollOutAs(model.policy)
  const referenceRole = config.reference.policy === 'base' ? 'base' : 'reference'
  const source = sourceOf(dependencies, { rollOut, referenceRole, rollOutAs })
  const own = stepsOver(config, source.size)
  const place = schedule.stage ?? { index: 0, firstStep: 0, steps: own, isLast: true }
  const { mismatchCorrection, precision, server } = config.rollout
  // With a quantised base, generation also rounds the inputs of its products.
  const isRounded = precision !== 'f32' || config.base.precision !== 'f32'
  const isOtherSampler = isRounded || server !== null
  return {
    source,
    steps: place.steps,
    firstStep: place.firstStep,
    lastStep: place.firstStep + own,
    stage: place.index,
    isLastStage: place.isLast,
    updatesPerStep: updatesOf(config, source.trajectoriesPerStep, algorithm.needs.unit),
    rollOut,
    correctMismatch:
      isRollout && (mismatchCorrection === 'on' || (mismatchCorrection === 'auto' && isOtherSampler)),
    referenceRole,
  }
}

/** The number of steps. Errors: as `planTraining`. */
export function countSteps(parts: PlanningParts): number {
  const { algorithm } = parts.code
  requireFitting(parts.config, algorithm)
  const { train } = parts.data
  const size =
    algorithm.experience === 'rollout'
      ? promptsOf(parts, train).prompts.length
      : examplesOf(parts, train).examples.length
  return stepsOver(parts.config, size)
}

const stepsOver = ({ steps, passes, rollout }: RunConfig, size: number): number =>
  steps ?? Math.ceil((passes * size) / rollout.promptsPerStep)

function sourceOf(
  dependencies: TrainDependencies,
  shared: Pick<TrainPlan, 'rollOut' | 'referenceRole'> & Pick<AheadPlan, 'rollOutAs'>,
): ExperienceSource {
  const { config, data, code, schedule } = dependencies
  const { algorithm, script } = code
  const shownRows = config.evaluation.rows ?? undefined
  if (algorithm.experience === 'rollout') {
    const { prompts, tooLong } = promptsOf(dependencies, data.train)
    const heldOut: EncodedPrompts =
      data.heldOut.length === 0 ? { prompts: [], tooLong: [] } : promptsOf(dependencies, data.heldOut)
    const rolloutPlan = {
      prompts,
      draw: rowOrder(prompts, { ...orderOf(config, prompts.length), columnsOf: ({ columns }) => columns }),
      heldOut: heldOut.prompts.slice(0, shownRows),
      tooLong: tooLong.length + heldOut.tooLong.length,
      groupSize: groupSizeOf(config, algorithm),
      rollOut: shared.rollOut,
      tokenLimit: config.rollout.maxNewTokens * maxTurnsOf(dependencies),
    }
    if (script) return scriptSource(dependencies, rolloutPlan, script)
    if (config.rollout.maxStaleness === 0) return rolloutSource(dependencies, rolloutPlan)
    const lastStep = (schedule.stage?.firstStep ?? 0) + stepsOver(config, prompts.length)
    return aheadSource(dependencies, { ...rolloutPlan, lastStep, rollOutAs: shared.rollOutAs })
  }
  const { examples, tooLong } = examplesOf(dependencies, data.train)
  const heldOut: EncodedExamples =
    data.heldOut.length === 0 ? { examples: [], tooLong: [] } : examplesOf(dependencies, data.heldOut)
  return exampleSource(dependencies, {
    examples,
    draw: rowOrder(examples, {
      ...orderOf(config, examples.length),
      columnsOf: ({ prompt: { columns } }) => columns,
    }),
    heldOut: heldOut.examples.slice(0, shownRows),
    tooLong: tooLong.length + heldOut.tooLong.length,
    ...shared,
  })
}

/** `size`: rows of the training data. */
function orderOf(config: RunConfig, size: number) {
  const { shuffle, order } = config.data
  return {
    seed: config.seed,
    shuffle,
    order,
    planned: stepsOver(config, size) * config.rollout.promptsPerStep,
  }
}

/** Optimizer updates for so many trajectories. */
export function updatesOf({ optimization }: RunConfig, trajectories: number, unit: number): number {
  const perUpdate = Math.max(1, Math.floor((optimization.minibatchSize ?? trajectories) / unit))
  return optimization.epochs * Math.ceil(trajectories / unit / perUpdate)
}

export function samplingOptions({
  config: { rollout },
  stopIds,
}: Pick<TrainDependencies, 'config'> & Pick<TrainedModel, 'stopIds'>): SamplingOptions {
  return {
    greedy: false,
    temperature: rollout.temperature,
    topK: rollout.topK,
    topP: rollout.topP,
    minP: rollout.minP,
    repetitionPenalty: rollout.repetitionPenalty,
    minNewTokens: rollout.minNewTokens,
    maxNewTokens: rollout.maxNewTokens,
    stopIds,
    stopStrings: rollout.stopStrings,
  }
}

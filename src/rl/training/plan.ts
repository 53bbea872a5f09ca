/** What a training run is made of, and the numbers that follow from its config. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import type { GenerateOptions, Policy, SamplingOptions } from '#engine/policy.ts'
import { AppError } from '#shared/errors.ts'
import type { TrainerState } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '../algorithms/types.ts'
import type { Environment } from '../environment.ts'
import type { RewardSpec } from '../rewards.ts'
import type { DataRow, Prompt } from '../rollout/prompts.ts'
import { planRollOut, promptsOf, type RollOut } from './rollOut.ts'

/** Everything `train` works with; made once, by whoever starts the run. */
export interface TrainDependencies {
  readonly config: RunConfig
  readonly policy: Policy
  readonly algorithm: ConfiguredAlgorithm
  readonly rewards: readonly RewardSpec[]
  /** The world of several turns; absent where completions of prompts are judged. */
  readonly environment?: Environment | null
  readonly trainRows: readonly DataRow[]
  readonly heldOutRows: readonly DataRow[]
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** Generation ends after any of these. */
  readonly stopIds: readonly number[]
  /** Learning rate of each parameter group at optimizer update `update` (from 0) of `updates`. */
  readonly learningRateAt: (update: number, updates: number) => Readonly<Record<'actor' | 'critic', number>>
  /** Where the run goes on; adapters and optimizer of that moment are already in the policy. */
  readonly state?: TrainerState
  /** A run of its own although it begins with the state of another: it says what every run says first. */
  readonly isFork?: boolean
  /** Stops the run after the current step. */
  readonly signal?: AbortSignal
  readonly pause?: PauseRequest
}

/** The wish of a person that the run waits between two steps. */
export interface PauseRequest {
  readonly isWanted: boolean
  /** Resolves when the run may go on, or is to stop. */
  over(): Promise<void>
}

/** What follows from dependencies and data, fixed for the whole run. */
export interface TrainPlan {
  readonly prompts: readonly Prompt[]
  readonly heldOut: readonly Prompt[]
  /** Rows left out because their prompt is too long. */
  readonly tooLong: number
  readonly steps: number
  readonly groupSize: number
  /** Optimizer updates of a step when every trajectory takes part. */
  readonly updatesPerStep: number
  readonly generate: GenerateOptions
  /** Text of generated ids, special tokens left out. */
  readonly decode: (ids: Iterable<number>) => string
  /** Lets the policy act. */
  readonly rollOut: RollOut
  /** Whether the gap between sampler and learner is corrected. */
  readonly correctMismatch: boolean
}

export const initialState: TrainerState = { step: 0, promptsDrawn: 0, updates: 0, tokens: 0 }

/** Errors: `config/invalid` or `data/invalid` when the parts do not fit together. */
export function planTraining(dependencies: TrainDependencies): TrainPlan {
  const { config, heldOutRows, tokenizer } = dependencies
  const { prompts, tooLong } = promptsOf(dependencies, dependencies.trainRows)
  const heldOut =
    heldOutRows.length === 0 ? { prompts: [], tooLong: [] } : promptsOf(dependencies, heldOutRows)
  const groupSize = groupSizeOf(dependencies)
  const { promptsPerStep, mismatchCorrection, precision } = config.rollout
  const decode = (ids: Iterable<number>) => tokenizer.decode(ids, { skipSpecialTokens: true })
  const generate: GenerateOptions = { role: 'actor', sampling: samplingOptions(dependencies), decode }
  return {
    prompts,
    heldOut: heldOut.prompts.slice(0, config.evaluation.rows ?? undefined),
    tooLong: tooLong.length + heldOut.tooLong.length,
    steps: config.steps ?? Math.ceil((config.passes * prompts.length) / promptsPerStep),
    groupSize,
    updatesPerStep: updatesOf(config, promptsPerStep * groupSize, dependencies.algorithm.needs.unit),
    generate,
    decode,
    rollOut: planRollOut(dependencies, { policy: dependencies.policy, generate, decode }),
    correctMismatch: mismatchCorrection === 'on' || (mismatchCorrection === 'auto' && precision === 'int8'),
  }
}

/** Optimizer updates for so many trajectories. */
export function updatesOf({ optimization }: RunConfig, trajectories: number, unit: number): number {
  const perUpdate = Math.max(1, Math.floor((optimization.minibatchSize ?? trajectories) / unit))
  return optimization.epochs * Math.ceil(trajectories / unit / perUpdate)
}

function groupSizeOf({ config, algorithm }: TrainDependencies): number {
  const size = config.rollout.groupSize ?? algorithm.groupSize.default
  if (size >= algorithm.groupSize.minimum) return size
  throw new AppError(
    'config/invalid',
    `rollout.groupSize is ${size}, but ${algorithm.id} compares at least ${algorithm.groupSize.minimum} completions per prompt.`,
  )
}

function samplingOptions({ config: { rollout }, stopIds }: TrainDependencies): SamplingOptions {
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

/** The parts that a training run consists of. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import type { Policy } from '#engine/policy.ts'
import type { DeviceKind } from '#shared/device.ts'
import type {
  PhaseProgress,
  StepPhase,
  TrainerState,
  EvaluationEvent,
  SamplesEvent,
  UnsolvedRow,
} from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '../algorithms/types.ts'
import type { Environment } from '../rollout/environment.ts'
import type { RewardSpec } from '../rewards.ts'
import type { DataRow } from '../rollout/prompts.ts'
import type { TrainingScript } from './script.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { LiveWorkflow, Workflow } from '../rollout/workflow.ts'

/** Everything that `train` works with; created once, by whoever starts the run. */
export interface TrainDependencies {
  readonly config: RunConfig
  readonly model: TrainedModel
  readonly data: RunRows
  readonly code: RunCode
  readonly schedule: Schedule
}

/** The policy that learns, with its tokenizer and chat template. */
export interface TrainedModel {
  readonly policy: Policy
  /** The device that the policy runs on; the CPU if absent. */
  readonly device?: DeviceKind
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** Ids that end generation. */
  readonly stopIds: readonly number[]
  /** Name of the teacher that limits the policy's context, since it reads less; absent: the limit is the policy's own. */
  readonly teacher?: string | undefined
  /** Metrics that a policy which generates elsewhere reports since the last call. */
  readonly rolloutMetrics?: () => Metrics
}

export interface RunRows {
  readonly train: readonly DataRow[]
  readonly heldOut: readonly DataRow[]
  /** Index of each row in its data set, from 0; absent: as given. */
  readonly places?: { readonly train: readonly number[]; readonly heldOut: readonly number[] }
}

/** Algorithm, rewards, environment and workflow of the config, built-in or the user's. */
export interface RunCode {
  readonly algorithm: ConfiguredAlgorithm
  readonly rewards: readonly RewardSpec[]
  /** Metrics that reward functions report since the last call, besides those of their values. */
  readonly rewardMetrics?: () => Metrics
  /** The user's training script; absent: the built-in loop. */
  readonly script?: TrainingScript
  /** The multi-turn environment; absent if completions of prompts are scored. */
  readonly environment?: Environment | null
  /** The workflow that runs episodes; absent: a prompt is completed, or an environment played to its end. */
  readonly workflow?: Workflow | LiveWorkflow | null
}

/** State that training resumes from, its stage and learning rates, and the control that may interrupt it. */
export interface Schedule {
  /** Learning rate of each parameter group at optimizer update `update` (from 0) of `updates`. */
  readonly learningRatesAt: (update: number, updates: number) => Readonly<Record<'actor' | 'critic', number>>
  /** State from which the run resumes; the policy already has the adapters and optimizer of that moment. */
  readonly state?: TrainerState
  /** A new run, although it begins with the state of another; it reports what every new run reports. */
  readonly isFork?: boolean
  /** The stage of a multi-stage run; absent = the whole run. */
  readonly stage?: StagePlace
  /** Stops the run after the current step. */
  readonly signal?: AbortSignal
  /** The run is evaluated and stops after this step, whatever else its config says; absent: it goes on to its end. */
  readonly until?: number | undefined
  readonly pause?: PauseRequest
  /** Other settings than these apply to later steps. */
  readonly change?: ChangeRequest
  /** Called with the run's current activity, for whoever watches it. */
  readonly onPhase?: (phase: StepPhase, progress?: PhaseProgress) => void
}

/** Request that the run wait between two steps. */
export interface PauseRequest {
  readonly isWanted: boolean
  /** Resolves when the run may continue, or has to stop. */
  over(): Promise<void>
}

/** Request to change the settings of the run: the training ends there, to be resumed with the new ones. */
export interface ChangeRequest {
  /** Number of steps completed when the settings change; 0: at once; null: they stay. */
  readonly after: number | null
}

/** A stage among those of its run. */
export interface StagePlace {
  readonly index: number
  /** Steps of the stages before it. */
  readonly firstStep: number
  /** Steps of all stages together. */
  readonly steps: number
  readonly isLast: boolean
}

/** Parts needed to compute the length of a run. */
export interface PlanningParts extends Pick<TrainDependencies, 'config' | 'data'> {
  readonly model: Pick<TrainedModel, 'tokenizer' | 'chatTemplate' | 'stopIds' | 'teacher'> & {
    readonly policy: Pick<Policy, 'contextLength'>
  }
  readonly code: Pick<RunCode, 'algorithm' | 'environment'>
}

// Where a step's trajectories come from. rolloutSource.ts lets the policy act, aheadSource.ts while it learns from earlier
// ones; exampleSource.ts takes given answers.

export interface ExperienceSource {
  /** Prompts, or rows with answers, of one pass. */
  readonly size: number
  /** Rows left out because they are too long. */
  readonly tooLong: number
  /** Trajectories of a step when every one takes part. */
  readonly trajectoriesPerStep: number
  /** Temperature at which the policy is trained. */
  readonly temperature: number
  /** The trajectories of the step after `before`; null: there is none. */
  collect(before: TrainerState): Promise<Collected | null>
  /** Tells whether no further step follows; absent: as many follow as the config says. */
  isOver?(): boolean
  /** Called with the result of the step; returns what a script adds, and its state. */
  complete?(metrics: Metrics): Promise<CompletedStep>
  /** Gives up what was begun for later steps. */
  close?(): Promise<void>
  /** Held-out rows; `step` is the number of steps completed. Yields nothing without such rows. */
  evaluate(step: number): AsyncGenerator<EvaluationEvent | SamplesEvent>
}

export interface CompletedStep {
  readonly metrics: Metrics
  readonly script: unknown
}

export interface Collected {
  /** All trajectories, for metrics. */
  readonly trajectories: readonly Trajectory[]
  /** Trajectories that can be learned from. */
  readonly candidates: readonly Trajectory[]
  /** Prompts drawn for them, without those that came again. */
  readonly drawn: number
  /** Rows that come again in later steps; absent where none does. */
  readonly unsolved?: readonly UnsolvedRow[]
  readonly metrics: Metrics
  /** Seconds; `background`: of generating while the policy learned, where `rollout` is the time spent waiting for it. */
  readonly times: { readonly rollout: number; readonly reward: number; readonly background?: number }
}

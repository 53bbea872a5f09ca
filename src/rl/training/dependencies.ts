/** What a training run is made of. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import type { Policy } from '#engine/policy.ts'
import type { DeviceKind } from '#shared/device.ts'
import type { PhaseProgress, StepPhase, TrainerState, EvaluationEvent, SamplesEvent } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '../algorithms/types.ts'
import type { Environment } from '../environment.ts'
import type { RewardSpec } from '../rewards.ts'
import type { DataRow } from '../rollout/prompts.ts'
import type { TrainingScript } from './script.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { Workflow } from '../workflow.ts'

/** Everything `train` works with; made once, by whoever starts the run. */
export interface TrainDependencies {
  readonly config: RunConfig
  readonly policy: Policy
  /** What the policy is computed on; the CPU if absent. */
  readonly device?: DeviceKind
  readonly algorithm: ConfiguredAlgorithm
  readonly rewards: readonly RewardSpec[]
  /** Steps as a person wrote them; absent: as this program takes them. */
  readonly script?: TrainingScript
  /** The world of several turns; absent where completions of prompts are judged. */
  readonly environment?: Environment | null
  /** How an episode goes; absent: a prompt is answered, or the environment played to its end. */
  readonly workflow?: Workflow | null
  readonly trainRows: readonly DataRow[]
  readonly heldOutRows: readonly DataRow[]
  /** Where each of these rows stands in its data set, from 0; absent: as they come. */
  readonly rowPlaces?: { readonly train: readonly number[]; readonly heldOut: readonly number[] }
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** Generation ends after any of these. */
  readonly stopIds: readonly number[]
  /** Learning rate of each parameter group at optimizer update `update` (from 0) of `updates`. */
  readonly learningRatesAt: (update: number, updates: number) => Readonly<Record<'actor' | 'critic', number>>
  /** What a policy that generates elsewhere has to report since it was last asked. */
  readonly rolloutMetrics?: () => Metrics
  /** Where the run goes on; adapters and optimizer of that moment are already in the policy. */
  readonly state?: TrainerState
  /** A run of its own although it begins with the state of another: it says what every run says first. */
  readonly isFork?: boolean
  /** Which part of a run of several stages this is; absent = the whole run. */
  readonly stage?: StagePlace
  /** Stops the run after the current step. */
  readonly signal?: AbortSignal
  /** The run is evaluated and stops after this step, whatever else its config says; absent: it goes on to its end. */
  readonly until?: number | undefined
  readonly pause?: PauseRequest
  /** Told what the run is at now, for whoever watches. */
  readonly onPhase?: (phase: StepPhase, progress?: PhaseProgress) => void
}

/** Somebody asks the run to wait between two steps. */
export interface PauseRequest {
  readonly isWanted: boolean
  /** Resolves when the run may go on, or is to stop. */
  over(): Promise<void>
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

/** What must be known to tell how long a run is. */
export type PlanningParts = Omit<TrainDependencies, 'policy'> & {
  readonly policy: Pick<Policy, 'contextLength'>
}

// Where a step's trajectories come from. rolloutSource.ts lets the policy act, exampleSource.ts takes given answers.

export interface ExperienceSource {
  /** Prompts, or rows with answers, of one pass. */
  readonly size: number
  /** Rows left out because they are too long. */
  readonly tooLong: number
  /** Trajectories of a step when every one takes part. */
  readonly trajectoriesPerStep: number
  /** At which the policy is trained. */
  readonly temperature: number
  /** The trajectories of the step after `before`; null: there is none. */
  collect(before: TrainerState): Promise<Collected | null>
  /** No further step follows; absent: as many as the config says. */
  isOver?(): boolean
  /** Told what the step came to; what a script has to add, and what it goes on with. */
  complete?(metrics: Metrics): Promise<CompletedStep>
  /** Held-out rows; `step` is the number of steps completed. Yields nothing without such rows. */
  evaluate(step: number): AsyncGenerator<EvaluationEvent | SamplesEvent>
}

export interface CompletedStep {
  readonly metrics: Metrics
  readonly script: unknown
}

export interface Collected {
  /** All of them, to be reported. */
  readonly trajectories: readonly Trajectory[]
  /** Those that may be learned from. */
  readonly candidates: readonly Trajectory[]
  /** Prompts drawn for them. */
  readonly drawn: number
  /** What there is to say of the trajectories. */
  readonly metrics: Metrics
  /** Seconds. */
  readonly times: { readonly rollout: number; readonly reward: number }
}

/** Where a step's trajectories come from. rolloutSource.ts lets the policy act, exampleSource.ts takes given answers. */
import type { EvaluationEvent, SamplesEvent, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { Trajectory } from '../rollout/trajectory.ts'

export interface ExperienceSource {
  /** Prompts, or rows with answers, of one pass. */
  readonly size: number
  /** Rows left out because they are too long. */
  readonly tooLong: number
  /** Trajectories of a step when every one takes part. */
  readonly trajectoriesPerStep: number
  /** At which the policy is trained. */
  readonly temperature: number
  /** The trajectories of the step after `before`. */
  collect(before: TrainerState): Promise<Collected>
  /** Held-out rows; `step` is the number of steps completed. Yields nothing without such rows. */
  evaluate(step: number): AsyncGenerator<EvaluationEvent | SamplesEvent>
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

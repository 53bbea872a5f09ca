/**
 * User-written training scripts: a script rolls out, learns and reports, and yields at the end of each step. What it
 * yields is saved in checkpoints and passed to it when the run resumes.
 */
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { DataRow, Prompt } from '../rollout/prompts.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { Stats } from './stats.ts'

/** A training script, started with the value that it yielded last, or undefined when the run begins. It yields plain JSON. */
export type TrainingScript = (run: ScriptRun, state: unknown) => AsyncGenerator<unknown, void, void>

/** Options of a rollout. */
export interface ScriptRollout {
  /** Completions or episodes per prompt; the algorithm's group size if absent. */
  readonly samples?: number
  /** Always take the most probable token. */
  readonly greedy?: boolean
}

/** The run as a script sees it. */
export interface ScriptRun {
  /** The run's config with all defaults. */
  readonly config: RunConfig
  /** Steps completed. */
  readonly step: number
  /** Rows to train on. */
  readonly rows: readonly DataRow[]
  readonly stats: Stats
  /** The next prompts in the run's seeded order; they count as drawn. */
  readonly prompts: (count?: number) => readonly Prompt[]
  /** Completions of each prompt, or episodes in the run's environment, with the run's rewards; group after group. */
  readonly rollout: (prompts: readonly Prompt[], request?: ScriptRollout) => Promise<readonly Trajectory[]>
  /**
   * Scores, advantages, loss, gradients and optimizer of the config's algorithm; once per step. Returns the metrics of
   * the step. Trajectories without a reward are left out.
   */
  readonly learn: (trajectories: readonly Trajectory[]) => Promise<Metrics>
  /** Mean reward of greedy answers to the validation rows; null if there are none. */
  readonly evaluate: () => Promise<number | null>
}

/**
 * The same trajectory with another reward than the run's functions gave it, for its last turn.
 *
 * @example
 * ```ts
 * import { withReward, type TrainingScript } from 'turnwise'
 *
 * // Half the reward for truncated completions.
 * export const train: TrainingScript = async function* ({ prompts, rollout, learn }) {
 *   for (;;) {
 *     const trajectories = await rollout(prompts())
 *     const judged = trajectories.map((each) =>
 *       each.truncated ? withReward(each, (each.reward.total ?? 0) / 2) : each,
 *     )
 *     await learn(judged)
 *     yield
 *   }
 * }
 * ```
 */
export const withReward = (trajectory: Trajectory, reward: number): Trajectory => ({
  ...trajectory,
  reward: { ...trajectory.reward, total: reward },
  tokenRewards: null,
  turnRewards:
    trajectory.turnRewards.length > 1
      ? trajectory.turnRewards.map((_, k, all) => (k === all.length - 1 ? reward : 0))
      : [reward],
})

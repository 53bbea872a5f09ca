/** Evaluation: greedy completions of every validation prompt, scored by the same reward functions. */
import type { EvaluationEvent, PhaseProgress, SamplesEvent } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { Prompt } from '../rollout/prompts.ts'
import { rewardTrajectories } from '../rollout/trajectoryRewards.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { TrainDependencies } from './dependencies.ts'
import type { RollOut } from './rollOut.ts'
import { shownSamples, spreadGroups } from './samples.ts'
import { heldOutPromptMetrics } from './promptMetrics.ts'
import { evaluationMetrics } from './stepMetrics.ts'
import { stopwatch } from './packing.ts'

export interface EvaluationPlan {
  readonly heldOut: readonly Prompt[]
  readonly rollOut: RollOut
}

/** `step` is the number of steps completed. Yields nothing without held-out rows. */
export async function* evaluateRollouts(
  dependencies: TrainDependencies,
  plan: EvaluationPlan,
  step: number,
): AsyncGenerator<EvaluationEvent | SamplesEvent> {
  if (plan.heldOut.length === 0) return
  const watch = stopwatch()
  const { trajectories, metrics } = await greedyRollouts(dependencies, plan, step)
  yield evaluation(step, trajectories.length, { ...metrics, eval_time: watch.lap() })
  yield* heldOutSamples(dependencies, step, trajectories)
}

/** Greedy answers to the held-out prompts, and their rewards. */
export async function greedyRollouts(
  dependencies: TrainDependencies,
  { heldOut, rollOut }: EvaluationPlan,
  step: number,
): Promise<{ readonly trajectories: readonly Trajectory[]; readonly metrics: Metrics }> {
  const { config, model, code, schedule } = dependencies
  const onProgress = (done: PhaseProgress) => schedule.onPhase?.('evaluating', done)
  const answers = await rollOut(heldOut, { groupSize: 1, step, source: 'evaluation', onProgress })
  const options = {
    rewards: code.rewards,
    onFailure: config.rewardFailures,
    step,
    tokenizer: model.tokenizer,
  }
  const trajectories = await rewardTrajectories(answers, options)
  const ofPrompts = heldOutPromptMetrics(trajectories, dependencies)
  return { trajectories, metrics: { ...evaluationMetrics(trajectories), ...ofPrompts } }
}

export const evaluation = (step: number, rows: number, metrics: Metrics): EvaluationEvent => ({
  type: 'evaluation',
  step,
  rows,
  metrics,
})

export function* heldOutSamples(
  { config }: TrainDependencies,
  step: number,
  trajectories: readonly Trajectory[],
): Generator<SamplesEvent> {
  const shown = spreadGroups(trajectories, config.shownTrajectories)
  const samples = shownSamples(shown, [], new Map())
  if (samples.length > 0) yield { type: 'samples', step, source: 'evaluation', samples }
}

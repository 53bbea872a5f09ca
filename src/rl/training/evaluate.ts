/** Evaluation: the most probable completion of every held-out prompt, judged by the same reward functions. */
import type { EvaluationEvent, SamplesEvent } from '#shared/events.ts'
import { rewardTrajectories } from '../rollout/rollout.ts'
import type { TrainDependencies, TrainPlan } from './plan.ts'
import { evenlySpaced, shownSamples } from './samples.ts'
import { evaluationMetrics } from './stepMetrics.ts'
import { stopwatch } from './stopwatch.ts'

/** `step` is the number of steps completed. Yields nothing without held-out rows. */
export async function* evaluate(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  step: number,
): AsyncGenerator<EvaluationEvent | SamplesEvent> {
  const { config, rewards } = dependencies
  if (plan.heldOut.length === 0) return
  const watch = stopwatch()
  const answers = await plan.rollOut(plan.heldOut, { groupSize: 1, step, source: 'evaluation' })
  const onFailure = config.rewardFailures
  const trajectories = await rewardTrajectories(answers, { rewards, onFailure, step })
  const metrics = { ...evaluationMetrics(trajectories), eval_time: watch.lap() }
  yield { type: 'evaluation', step, rows: trajectories.length, metrics }
  const shown = evenlySpaced(trajectories, config.shownTrajectories)
  const samples = shownSamples(shown, [], new Map())
  if (samples.length > 0) yield { type: 'samples', step, source: 'evaluation', samples }
}

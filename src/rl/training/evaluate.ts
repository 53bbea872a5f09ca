/** Evaluation: the most probable completion of every held-out prompt, judged by the same reward functions. */
import type { EvaluationEvent, SamplesEvent } from '#shared/events.ts'
import { generateTrajectories, rewardTrajectories } from '../rollout/rollout.ts'
import type { TrainDependencies, TrainPlan } from './plan.ts'
import { shownSamples } from './samples.ts'
import { evaluationMetrics } from './stepMetrics.ts'
import { stopwatch } from './stopwatch.ts'

/** `step` is the number of steps completed. Yields nothing without held-out rows. */
export async function* evaluate(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  step: number,
): AsyncGenerator<EvaluationEvent | SamplesEvent> {
  const { config, policy, rewards } = dependencies
  if (plan.heldOut.length === 0) return
  const watch = stopwatch()
  const greedy = { ...plan.generate, sampling: { ...plan.generate.sampling, greedy: true } }
  const answers = await generateTrajectories(
    { prompts: plan.heldOut, groupSize: 1, seed: config.seed, step },
    { policy, generate: greedy, decode: plan.decode },
  )
  const trajectories = await rewardTrajectories(answers, { rewards, onFailure: config.rewardFailures })
  const metrics = { ...evaluationMetrics(trajectories), eval_time: watch.lap() }
  yield { type: 'evaluation', step, rows: trajectories.length, metrics }
  const samples = shownSamples(trajectories, [], config.shownTrajectories)
  if (samples.length > 0) yield { type: 'samples', step, source: 'evaluation', samples }
}

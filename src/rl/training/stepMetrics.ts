/** The metrics that a step reports about its trajectories. */
import type { Metrics } from '#shared/metrics.ts'
import { groupsOf, hasNoSpread, mean, sampleVariance } from '../algorithms/terms/groups.ts'
import { type MismatchSummary, summarizeMismatch, type WeightLimit } from './samplingMismatch.ts'
import type { EpisodeEnd, Trajectory, WorkflowOutcome } from '../rollout/trajectory.ts'
import type { TrainingRow } from './experience.ts'
import type { UpdateSummary } from './update.ts'

/** Rewards, groups and lengths of a rollout. */
export function rolloutMetrics(trajectories: readonly Trajectory[]): Metrics {
  const failures = trajectories.reduce((sum, { reward }) => sum + reward.failures.length, 0)
  const unscored = trajectories.filter(({ reward }) => reward.total === null).length
  return {
    ...totalMetrics(trajectories),
    ...partMetrics(trajectories),
    ...lengthMetrics(trajectories),
    ...loggedMetrics(trajectories),
    ...episodeMetrics(trajectories),
    ...workflowMetrics(trajectories),
    'reward/failures': failures,
    'reward/unscored': unscored,
  }
}

/** The same for held-out trajectories, each alone in its group. */
export function evaluationMetrics(trajectories: readonly Trajectory[]): Metrics {
  const { reward } = totalMetrics(trajectories)
  const lengths = lengthMetrics(trajectories)
  const parts = partNames(trajectories).flatMap((name) => {
    const values = partValues(trajectories, name)
    return values.length === 0 ? [] : [[`eval_rewards/${name}/mean`, mean(values)]]
  })
  return {
    ...(reward === undefined ? {} : { eval_reward: reward }),
    ...(Object.fromEntries(parts) as Metrics),
    'eval_completions/mean_length': lengths['completions/mean_length'] ?? 0,
    'eval_completions/clipped_ratio': lengths['completions/clipped_ratio'] ?? 0,
  }
}

/** Trajectories without a reward are left out; no metrics if none has one. */
function totalMetrics(trajectories: readonly Trajectory[]): Metrics {
  const rewarded = trajectories.filter(({ reward }) => reward.total !== null)
  const totals = rewarded.map(({ reward }) => reward.total ?? 0)
  if (totals.length === 0) return {}
  return { reward: mean(totals), ...spreadMetrics(totals, rewarded) }
}

/** Standard deviation within groups; if every prompt has one completion only, that of the step. */
function spreadMetrics(totals: readonly number[], trajectories: readonly Trajectory[]): Metrics {
  const groups = groupsOf(trajectories)
    .filter(({ length }) => length > 1)
    .map((group) => group.map(({ reward }) => reward.total ?? 0))
  if (groups.length === 0) return { reward_std: Math.sqrt(sampleVariance(totals)) }
  return {
    reward_std: mean(groups.map((group) => Math.sqrt(sampleVariance(group)))),
    frac_reward_zero_std: groups.filter(hasNoSpread).length / groups.length,
  }
}

function partMetrics(trajectories: readonly Trajectory[]): Metrics {
  const entries = partNames(trajectories).flatMap((name) => {
    const values = partValues(trajectories, name)
    if (values.length === 0) return []
    return [
      [`rewards/${name}/mean`, mean(values)],
      [`rewards/${name}/std`, Math.sqrt(sampleVariance(values))],
    ]
  })
  return Object.fromEntries(entries) as Metrics
}

/** No metrics for trajectories without an environment. */
function episodeMetrics(trajectories: readonly Trajectory[]): Metrics {
  const episodes = trajectories.map(({ episode }) => episode).filter((episode) => episode !== null)
  if (episodes.length === 0) return {}
  const shareOf = (...wanted: readonly EpisodeEnd[]) =>
    mean(episodes.map(({ end }) => Number(wanted.includes(end))))
  return {
    'environment/turns': mean(episodes.map(({ turns }) => turns)),
    'environment/done_ratio': shareOf('terminated'),
    'environment/truncated_ratio': shareOf('truncated', 'turn-limit', 'context-limit'),
    'environment/context_limit_ratio': shareOf('context-limit'),
  }
}

/** No metrics for trajectories without a workflow. */
function workflowMetrics(trajectories: readonly Trajectory[]): Metrics {
  const outcomes = trajectories.flatMap(({ workflow }) => workflow ?? [])
  if (outcomes.length === 0) return {}
  const shareOf = (wanted: WorkflowOutcome['end']) => mean(outcomes.map(({ end }) => Number(end === wanted)))
  return {
    'workflow/turns': mean(outcomes.map(({ turns }) => turns)),
    'workflow/requests': mean(outcomes.map(({ requests }) => requests)),
    'workflow/rejected_ratio': shareOf('rejected'),
    'workflow/failed_ratio': shareOf('failed'),
  }
}

/** Means of the numbers that reward functions logged, each over the trajectories that have it. */
function loggedMetrics(trajectories: readonly Trajectory[]): Metrics {
  const byName = new Map<string, number[]>()
  for (const { reward } of trajectories) {
    for (const [name, value] of Object.entries(reward.metrics ?? {})) {
      byName.set(name, [...(byName.get(name) ?? []), value])
    }
  }
  const entries = [...byName].map(([name, values]) => [`logged/${name}`, mean(values)])
  return Object.fromEntries(entries) as Metrics
}

const partNames = (trajectories: readonly Trajectory[]): string[] =>
  Object.keys(trajectories[0]?.reward.parts ?? {})

const partValues = (trajectories: readonly Trajectory[], name: string): number[] =>
  trajectories.map(({ reward }) => reward.parts[name]).filter((value) => typeof value === 'number')

/** Lengths of the completions, or of given answers. */
export function lengthMetrics(trajectories: readonly Trajectory[]): Metrics {
  if (trajectories.length === 0) return {}
  const all = trajectories.map(({ completionTokens }) => completionTokens)
  const ended = trajectories.filter(({ truncated }) => !truncated)
  const terminated = ended.map(({ completionTokens }) => completionTokens)
  return {
    'completions/mean_length': mean(all),
    'completions/min_length': Math.min(...all),
    'completions/max_length': Math.max(...all),
    'completions/clipped_ratio': 1 - ended.length / trajectories.length,
    ...(terminated.length === 0
      ? {}
      : {
          'completions/mean_terminated_length': mean(terminated),
          'completions/min_terminated_length': Math.min(...terminated),
          'completions/max_terminated_length': Math.max(...terminated),
        }),
  }
}

/** Metrics of the updates of a step; a step without any reports a loss of 0, one that skipped all of them none. */
export function updateMetrics(
  summary: UpdateSummary,
  rows: readonly TrainingRow[],
  limit: WeightLimit,
): Metrics {
  return {
    ...(summary.updates + summary.skipped === 0 ? { loss: 0 } : summary.metrics),
    ...mismatchMetrics(summary, limit),
    'update/trajectories': rows.length,
    'update/count': summary.updates,
    ...(summary.skipped === 0 ? {} : { 'update/skipped': summary.skipped }),
  }
}

/** Reports how well the critic predicted the returns before the first update; none without a critic. */
export function valueMetrics(rows: readonly TrainingRow[]): Metrics {
  const [returns, errors]: [number[], number[]] = [[], []]
  for (const { learning } of rows) {
    const { actionMask, returns: targets, behaviorValues } = learning
    if (targets === null || behaviorValues === null) return {}
    actionMask.forEach((isAction, t) => {
      if (isAction !== 1) return
      returns.push(targets[t]!)
      errors.push(targets[t]! - behaviorValues[t]!)
    })
  }
  const spread = sampleVariance(returns)
  return spread > 0 ? { 'value/explained_variance': 1 - sampleVariance(errors) / spread } : {}
}

/** The gap between recorded and re-scored log-probabilities. */
function mismatchMetrics({ mismatch, skippedRows }: UpdateSummary, limit: WeightLimit): Metrics {
  const summary = summarizeMismatch(mismatch, limit)
  return {
    ...(skippedRows > 0 ? { 'sampling/rows_skipped': skippedRows } : {}),
    ...(summary === null ? {} : namedSummary(summary)),
  }
}

const namedSummary = (summary: MismatchSummary): Metrics => ({
  'sampling/sampling_logp_difference/mean': summary.differenceMean,
  'sampling/sampling_logp_difference/max': summary.differenceMax,
  'sampling/importance_sampling_ratio/min': summary.ratioMin,
  'sampling/importance_sampling_ratio/mean': summary.ratioMean,
  'sampling/importance_sampling_ratio/p95': summary.ratioHigh,
  'sampling/importance_sampling_ratio/capped': summary.cappedShare,
})

/** Seconds. */
export interface StepTimes {
  readonly rollout: number
  /** Time spent generating while the policy learned; `rollout` is then the time spent waiting for it. */
  readonly background?: number
  readonly reward: number
  readonly score: number
  readonly update: number
  readonly step: number
}

export function timeMetrics(
  times: StepTimes,
  trajectories: readonly Trajectory[],
  rows: readonly TrainingRow[],
  epochs: number,
): Metrics {
  const generated = trajectories.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
  const learned = epochs * rows.reduce((sum, { trajectory }) => sum + trajectory.ids.length, 0)
  return {
    step_time: times.step,
    'time/rollout': times.rollout,
    'time/reward': times.reward,
    'time/score': times.score,
    'time/update': times.update,
    'rollout/tokens_per_second': generated / Math.max(times.background ?? times.rollout, 1e-9),
    'update/tokens_per_second': learned / Math.max(times.update, 1e-9),
  }
}

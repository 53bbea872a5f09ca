/** How good a reward is on the scale of its run. */
import { type DiagnosedRun, seriesOf } from './diagnosedRun.ts'
import type { RewardFact } from './facts.ts'
import { valuesOf } from './series.ts'

export interface RewardScale {
  readonly low: number
  readonly high: number
}

/**
 * What a run's reward can be, as far as one can know: functions are taken to say 0 to 1, as most do, unless they were
 * seen to say something else.
 */
export function rewardScaleOf(run: DiagnosedRun): RewardScale {
  const { rewards, hasEnvironment } = run.facts
  const seen = [
    ...valuesOf(seriesOf(run, 'reward')),
    ...valuesOf(seriesOf(run, 'eval_reward')),
    ...run.samples.flatMap(({ reward }) => reward ?? []),
  ]
  const best = rewards
    .filter(({ weight }) => weight > 0)
    .reduce((sum, reward) => sum + reward.weight * ceilingOf(run, reward), hasEnvironment ? 1 : 0)
  return { low: extreme(Math.min, [0, ...seen]), high: extreme(Math.max, [best, ...seen]) }
}

/** 0 for the worst, 1 for the best. */
export const placeOn = ({ low, high }: RewardScale, reward: number): number =>
  high > low ? (reward - low) / (high - low) : 1

export const spanOf = ({ low, high }: RewardScale): number => (high > low ? high - low : 1)

const penalties = /cost|length|limit|negative|penal|punish|repeat|repetition/i

/** As far as weight and names tell: one that says 0 of everything is at its best. */
export const isPenalty = ({ name, function: id, weight }: RewardFact): boolean =>
  weight < 0 || penalties.test(name) || penalties.test(id.replace(/^.*[\\/]/, ''))

/** The most a function can say: 1 or what it was seen to say; 0 for those that only punish. */
export function ceilingOf(run: DiagnosedRun, reward: RewardFact): number {
  const { name } = reward
  const seen = [
    ...valuesOf(seriesOf(run, `rewards/${name}/mean`)),
    ...run.samples.flatMap(({ parts }) => parts[name] ?? []),
  ]
  const isPunishing =
    (isPenalty(reward) || seen.some((value) => value < 0)) && seen.every((value) => value <= 0)
  return isPunishing ? 0 : extreme(Math.max, [1, ...seen])
}

/** Without spreading the values into arguments, of which there may be too many. */
const extreme = (pick: (a: number, b: number) => number, values: readonly number[]): number =>
  values.reduce((a, b) => pick(a, b))

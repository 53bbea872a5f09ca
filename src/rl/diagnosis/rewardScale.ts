/** Places a reward on the scale of its run. */
import { type DiagnosedRun, seriesOf, type Measured, valuesOf, averageOf } from './diagnosedRun.ts'
import type { RewardFact } from './facts.ts'

export interface RewardScale {
  readonly low: number
  readonly high: number
}

/**
 * Returns the range of a run's reward, as far as one can know: functions are taken to say 0 to 1, as most do, unless
 * they were seen to say something else.
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

/** Returns true if weight or names tell that it is a penalty: one that says 0 of everything is at its best. */
export const isPenalty = ({ name, function: id, weight }: RewardFact): boolean =>
  weight < 0 || penalties.test(name) || penalties.test(id.replace(/^.*[\\/]/, ''))

/** Returns the most a function can give: 1 or the largest value seen; 0 for those that only punish. */
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

/** Returns the extreme without spreading the values into arguments, of which there may be too many. */
const extreme = (pick: (a: number, b: number) => number, values: readonly number[]): number =>
  values.reduce((a, b) => pick(a, b))

// Differences of rewards through nothing but which prompts were drawn, so that rules can tell a change from luck. Prompts
// are not equally hard, and completions of one prompt are alike: what counts is how many prompts there were.

/** Standard errors that a difference has to exceed: chance does so once in 700 times, and it is looked for often. */
export const surely = 3
/** The same where a setting far out of the ordinary makes it likely anyway. */
export const perhaps = 2

/** Mean reward, and the number of prompts behind it. */
interface Level {
  readonly mean: number
  readonly prompts: number
}

/** Level of the reward over training steps. */
export const levelOf = ({ facts }: DiagnosedRun, rewards: readonly Measured[]): Level => ({
  mean: averageOf(rewards),
  prompts: facts.promptsPerStep * rewards.length,
})

/** Assumed number of held-out rows where all of them count: how many these are is not known here. */
const rowsOfAll = 100

export const heldOutLevel = ({ facts }: DiagnosedRun, { value }: Measured): Level => ({
  mean: value,
  prompts: facts.heldOutRows ?? rowsOfAll,
})

/**
 * Upper bound of the standard error of a level: no rewards within the scale with this mean spread farther than those
 * that are all at its ends (Bhatia and Davis 2000).
 */
export const errorOf = ({ low, high }: RewardScale, { mean, prompts }: Level): number =>
  Math.sqrt(Math.max(0, (high - mean) * (mean - low)) / prompts)

/** Standard error of the difference of two levels, were both samples of one, as in a test of two proportions. */
export function errorBetween(scale: RewardScale, a: Level, b: Level): number {
  const mean = (a.mean * a.prompts + b.mean * b.prompts) / (a.prompts + b.prompts)
  return Math.hypot(errorOf(scale, { ...a, mean }), errorOf(scale, { ...b, mean }))
}

interface Rise {
  /** Difference by which the second half of the run lies above the first. */
  readonly rise: number
  /** Standard error of that. */
  readonly error: number
}

export function rewardRise(run: DiagnosedRun, rewards: readonly Measured[]): Rise {
  const middle = Math.floor(rewards.length / 2)
  const [before, after] = [levelOf(run, rewards.slice(0, middle)), levelOf(run, rewards.slice(middle))]
  return { rise: after.mean - before.mean, error: errorBetween(rewardScaleOf(run), before, after) }
}

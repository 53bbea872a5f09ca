/**
 * What rewards differ by through nothing but which prompts were drawn, so that rules can tell a change from luck. Prompts
 * are not equally hard, and completions of one prompt are alike: what counts is how many prompts there were.
 */
import type { DiagnosedRun, Measured } from './diagnosedRun.ts'
import { type RewardScale, rewardScaleOf } from './rewardScale.ts'
import { averageOf } from './series.ts'

/** Standard errors that a difference has to exceed: chance does so once in 700 times, and it is looked for often. */
export const surely = 3
/** The same where a setting far out of the ordinary makes it likely anyway. */
export const perhaps = 2

/** Mean reward of so many prompts. */
export interface Level {
  readonly mean: number
  readonly prompts: number
}

/** Of steps of training. */
export const levelOf = ({ facts }: DiagnosedRun, rewards: readonly Measured[]): Level => ({
  mean: averageOf(rewards),
  prompts: facts.promptsPerStep * rewards.length,
})

/** Where all held-out rows count, how many these are is not known here. */
const rowsOfAll = 100

export const heldOutLevel = ({ facts }: DiagnosedRun, { value }: Measured): Level => ({
  mean: value,
  prompts: facts.heldOutRows ?? rowsOfAll,
})

/**
 * Standard error of a level, at most: no rewards within the scale with this mean spread farther than those that are all at
 * its ends (Bhatia and Davis 2000).
 */
export const errorOf = ({ low, high }: RewardScale, { mean, prompts }: Level): number =>
  Math.sqrt(Math.max(0, (high - mean) * (mean - low)) / prompts)

/** Standard error of the difference of two levels, were both samples of one, as in a test of two proportions. */
export function errorBetween(scale: RewardScale, a: Level, b: Level): number {
  const mean = (a.mean * a.prompts + b.mean * b.prompts) / (a.prompts + b.prompts)
  return Math.hypot(errorOf(scale, { ...a, mean }), errorOf(scale, { ...b, mean }))
}

export interface Rise {
  /** By how much the second half of the run lies above the first. */
  readonly rise: number
  /** Standard error of that. */
  readonly error: number
}

export function rewardRise(run: DiagnosedRun, rewards: readonly Measured[]): Rise {
  const middle = Math.floor(rewards.length / 2)
  const [before, after] = [levelOf(run, rewards.slice(0, middle)), levelOf(run, rewards.slice(middle))]
  return { rise: after.mean - before.mean, error: errorBetween(rewardScaleOf(run), before, after) }
}

import { invalidConfig } from '#shared/errors.ts'

/** A learning rate never falls below this, in every schedule that falls or warms up. */
const MINIMUM_RATE = 1e-8

export interface SchedulePlan {
  /** Optimizer updates of the whole run, E. */
  readonly totalSteps: number
  /** Share of them spent warming up, in [0, 1]. */
  readonly warmupProportion: number
  /** Cosine only: follow AgileRL to the letter when W = 0, where the rate stays at the minimum. For comparison with it. */
  readonly literalZeroWarmup?: boolean
}

/** One constant, listed in `schedules`. */
interface Schedule {
  readonly id: string
  readonly title: string
  /**
   * Learning rate of update `step` (the first is 0) of `plan.totalSteps` for a group whose config says `learningRate`. A
   * pure function, so every group keeps its own rate and a resumed run needs no state but the step.
   */
  at(step: number, learningRate: number, plan: SchedulePlan): number
}

/** Warm-up W = ⌊E·p⌋ updates, then R = E − W. */
function phases({ totalSteps, warmupProportion }: SchedulePlan): { warmup: number; rest: number } {
  if (!(totalSteps >= 1)) throw new Error(`Expected \`totalSteps\` of at least 1, got ${totalSteps}.`)
  if (!(warmupProportion >= 0 && warmupProportion <= 1)) {
    throw new Error(`Expected \`warmupProportion\` from 0 to 1, got ${warmupProportion}.`)
  }
  const warmup = Math.floor(totalSteps * warmupProportion)
  return { warmup, rest: totalSteps - warmup }
}

/** The lower end of a schedule for this group; a group that does not learn stays at 0. */
function minimumRate(learningRate: number): number {
  return Math.min(MINIMUM_RATE, learningRate)
}

/** Straight line from the minimum at step 0 to `learningRate` at step `warmup`. */
function warmupRate(step: number, learningRate: number, warmup: number): number {
  const lowest = minimumRate(learningRate)
  return lowest + ((learningRate - lowest) * step) / warmup
}

/** The base rate at every step; no warm-up. */
const constantSchedule: Schedule = {
  id: 'constant',
  title: 'Constant',
  at: (_step, learningRate) => learningRate,
}

/** Straight up to the base rate, then straight down to the minimum at the end of the run; it stays there afterwards. */
const linearSchedule: Schedule = {
  id: 'linear',
  title: 'Linear with warm-up',
  at(step, learningRate, plan) {
    const { warmup, rest } = phases(plan)
    if (step < warmup) return warmupRate(step, learningRate, warmup)
    const lowest = minimumRate(learningRate)
    const done = rest === 0 ? 0 : Math.min(1, (step - warmup) / rest)
    return learningRate - (learningRate - lowest) * done
  },
}

/**
 * Cosine with warm-up as AgileRL computes it, with two of its faults corrected: every group follows its own base rate
 * (there, all groups take the first one's), and without a warm-up the rate starts at the base rate (there, it never
 * leaves the minimum; the plan's `literalZeroWarmup` asks for that).
 *
 * Kept as it is: the half period is 2R, so the last update of the run still has about half the base rate.
 * rate(s) = lowest + (base − lowest)·(1 + cos(π·(s−W)/(2R)))/2 for s ≥ W.
 */
export const cosineSchedule: Schedule = {
  id: 'cosine',
  title: 'Cosine with warm-up',
  at(step, learningRate, plan) {
    const { warmup, rest } = phases(plan)
    if (step < warmup) return warmupRate(step, learningRate, warmup)
    if (rest === 0) return learningRate
    const lowest = minimumRate(learningRate)
    if (warmup === 0 && plan.literalZeroWarmup) return lowest
    const angle = (Math.PI * (step - warmup)) / (2 * rest)
    return lowest + ((learningRate - lowest) * (1 + Math.cos(angle))) / 2
  },
}

export const schedules: readonly Schedule[] = [constantSchedule, linearSchedule, cosineSchedule]

/** @throws AppError `config/invalid` for a name that is not in the list. */
export function scheduleById(id: string): Schedule {
  const schedule = schedules.find((candidate) => candidate.id === id)
  if (schedule) return schedule
  const known = schedules.map((candidate) => candidate.id).join(', ')
  throw invalidConfig(`There is no learning-rate schedule called “${id}”.`, `Use one of: ${known}.`)
}

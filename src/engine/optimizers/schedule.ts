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

/** A plug-in kind: one file, one line in `registry.ts`. */
export interface Schedule {
  readonly id: string
  readonly title: string
  /**
   * Learning rate of update `step` (the first is 0) of `plan.totalSteps` for a group whose config says `learningRate`. A pure function, so
   * every group keeps its own rate and a resumed run needs no state but the step.
   */
  at(step: number, learningRate: number, plan: SchedulePlan): number
}

/** Warm-up W = ⌊E·p⌋ updates, then R = E − W. */
export function phases({ totalSteps, warmupProportion }: SchedulePlan): { warmup: number; rest: number } {
  if (!(totalSteps >= 1)) throw new Error(`Expected \`totalSteps\` from 1 and up, got ${totalSteps}.`)
  if (!(warmupProportion >= 0 && warmupProportion <= 1)) {
    throw new Error(`Expected \`warmupProportion\` from 0 to 1, got ${warmupProportion}.`)
  }
  const warmup = Math.floor(totalSteps * warmupProportion)
  return { warmup, rest: totalSteps - warmup }
}

/** The lower end of a schedule for this group; a group that does not learn stays at 0. */
export function minimumRate(learningRate: number): number {
  return Math.min(MINIMUM_RATE, learningRate)
}

/** Straight line from the minimum at step 0 to `learningRate` at step `warmup`. */
export function warmupRate(step: number, learningRate: number, warmup: number): number {
  const lowest = minimumRate(learningRate)
  return lowest + ((learningRate - lowest) * step) / warmup
}

import { minimumRate, phases, warmupRate, type Schedule } from './schedule.ts'

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

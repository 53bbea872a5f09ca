import { minimumRate, phases, warmupRate, type Schedule } from './schedule.ts'

/** Straight up to the base rate, then straight down to the minimum at the end of the run; it stays there afterwards. */
export const linearSchedule: Schedule = {
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

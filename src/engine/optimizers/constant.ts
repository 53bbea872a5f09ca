import type { Schedule } from './schedule.ts'

/** The base rate at every step; no warm-up. */
export const constantSchedule: Schedule = {
  id: 'constant',
  title: 'Constant',
  at: (_step, learningRate) => learningRate,
}

import { AppError } from '#shared/errors.ts'
import { constantSchedule } from './constant.ts'
import { cosineSchedule } from './cosine.ts'
import { linearSchedule } from './linear.ts'
import type { Schedule } from './schedule.ts'

export const schedules: readonly Schedule[] = [constantSchedule, linearSchedule, cosineSchedule]

/** @throws AppError `config/invalid` for a name that is not in the list. */
export function scheduleById(id: string): Schedule {
  const schedule = schedules.find((candidate) => candidate.id === id)
  if (schedule) return schedule
  const known = schedules.map((candidate) => candidate.id).join(', ')
  throw new AppError(
    'config/invalid',
    `There is no learning-rate schedule called “${id}”.`,
    `Use one of: ${known}.`,
  )
}

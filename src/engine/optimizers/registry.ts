import { AppError } from '#shared/errors.ts'
import { adamw } from './adamw.ts'
import { constantSchedule } from './constant.ts'
import { cosineSchedule } from './cosine.ts'
import { linearSchedule } from './linear.ts'
import type { Schedule } from './schedule.ts'

export const optimizers = [adamw] as const

export const schedules: readonly Schedule[] = [constantSchedule, linearSchedule, cosineSchedule]

/** @throws AppError `config/invalid` for a name that is not in the list. */
export function optimizerById(id: string): (typeof optimizers)[number] {
  return find(optimizers, id, 'optimizer')
}

/** @throws AppError `config/invalid` for a name that is not in the list. */
export function scheduleById(id: string): Schedule {
  return find(schedules, id, 'learning-rate schedule')
}

function find<T extends { readonly id: string }>(entries: readonly T[], id: string, kind: string): T {
  const entry = entries.find((candidate) => candidate.id === id)
  if (entry) return entry
  const known = entries.map((candidate) => candidate.id).join(', ')
  throw new AppError('config/invalid', `There is no ${kind} called “${id}”.`, `Use one of: ${known}.`)
}

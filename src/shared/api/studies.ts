/** Studies: populations, sweeps and runs over seeds, which train trials, compare them and go on with the best. */
import { z } from 'zod'
import type { JsonObject } from '../config/paths.ts'
import type { Search } from '../studies.ts'
import { count, cursor, failure, instant, problem, studyId } from './common.ts'
import { command, feed, query } from './contract.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

/** `waiting`: for a host that goes on with it; `interrupted`: its process died. */
export const studyStatus = z.enum(['running', 'waiting', 'stopped', 'finished', 'failed', 'interrupted'])

export const trialResult = z.object({
  trial: count,
  step: count,
  /** null: it failed, or its metric was no number. */
  fitness: z.number().nullable(),
  /** Since its last result. */
  tokens: z.number(),
  seconds: z.number(),
  error: z.string().optional(),
})

const trial = z.object({
  index: count,
  /** In a population, the number of its member. */
  member: count,
  generation: count,
  /** Settings by dotted key in which it differs from the config. */
  settings: z.record(z.string(), z.unknown()),
  parent: z.object({ index: count, step: count }).nullable(),
  mutation: z.object({ key: z.string(), from: z.number(), to: z.number() }).nullable(),
  /** null: not begun. */
  runId: z.string().nullable(),
  results: z.array(trialResult),
})

const entry = z.object({
  id: z.string(),
  name: z.string().nullable(),
  createdAt: instant,
  status: studyStatus,
  error: failure.nullable(),
  search: z.custom<Search>(isObject),
  /** Of a trial that trains to its end. */
  steps: count,
  /** Trials at the same time. */
  parallel: count,
  trials: z.array(trial),
  /** What is trained now, or next. */
  pending: z.array(z.object({ trial: count, until: count })).readonly(),
  /** Of those who got furthest. */
  best: trialResult.extend({ runId: z.string().nullable() }).nullable(),
  /** As it was given, with absolute paths. */
  file: z.custom<JsonObject>(isObject),
})

const one = z.object({ id: studyId })

export const studiesApi = {
  /** The newest first. */
  list: query(z.void(), z.array(entry)),
  get: query(one, entry),
  /** What a file would come to; nothing is started. */
  check: query(
    z.object({ file: z.custom<JsonObject>(isObject) }),
    z.union([
      z.object({ problems: z.array(problem) }),
      z.object({ trials: count, steps: count, totalSteps: z.number(), parallel: count }),
    ]),
  ),
  start: command(z.object({ file: z.custom<JsonObject>(isObject) }), z.object({ id: z.string() })),
  /** Trials stop after their current step. */
  stop: command(one, z.void()),
  resume: command(one, z.void()),
  /** For good; its runs stay. */
  delete: command(one, z.void()),
  watch: feed(z.void(), z.object({ cursor })),
}

export type StudyEntry = z.output<typeof entry>
export type StudyTrial = z.output<typeof trial>

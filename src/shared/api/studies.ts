/** Studies: populations, sweeps and runs over seeds, which train trials, compare them and go on with the best. */
import { z } from 'zod'
import type { JsonObject } from '../config/paths.ts'
import { studyKinds, type Search } from '../studies.ts'
import { deviceKinds } from '../device.ts'
import { calibration } from './calibration.ts'
import { count, cursor, failure, instant, problem, progressOr, studyId } from './common.ts'
import { command, feed, query, stream, type Immutable } from './contract.ts'
import { adapterSummary } from './models.ts'

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
  /** What the searched settings are in the config, by dotted key: those of a trial that has none of its own. */
  start: z.custom<JsonObject>(isObject),
  /** Of a trial that trains to its end. */
  steps: count,
  /** Trials at the same time. */
  parallel: count,
  /** What all trials have trained, up to their last results. */
  trained: z.object({ steps: count, tokens: z.number(), seconds: z.number() }),
  /** Of all trials together, when it is over; at most so many where it has a budget. */
  plannedSteps: count,
  trials: z.array(trial),
  /** What is trained now, or next. */
  pending: z.array(z.object({ trial: count, until: count })).readonly(),
  /** Of those who got furthest. */
  best: trialResult.extend({ runId: z.string().nullable() }).nullable(),
  /** As it was given, with absolute paths. */
  file: z.custom<JsonObject>(isObject),
})

/** What each searched setting does to fitness (`rl/studies/importance.ts`); nothing is said where `settings` is empty. */
const importance = z.object({
  /** Results it rests on, and how many it takes. */
  results: count,
  needed: count,
  /** The step at which trials are compared; null: in a population, where results of every generation count. */
  step: count.nullable(),
  /** Share of the variance of fitness that the settings account for, in results that the estimate has not seen. */
  explained: z.number().nullable(),
  /** The most important first. */
  settings: z.array(
    z.object({
      key: z.string(),
      /** Share of the variance of fitness: about 0 without influence, up to 1. */
      share: z.number(),
      /** 95 %; null: no result tells the setting from none. */
      interval: z.object({ low: z.number(), high: z.number() }).nullable(),
      /** With how good a result is; null where the values have no order. */
      correlation: z.number().nullable(),
      /** Which way is better, where share and correlation are more than chance. */
      better: z.enum(['more', 'less']).nullable(),
    }),
  ),
})
/** A study in a list: counts in place of its trials. */
const summary = entry
  .omit({ search: true, trials: true, pending: true, file: true })
  .extend({ kind: z.enum(studyKinds), metric: z.string(), trials: count })

/** A folder in which there is a study that cannot be read, and why. */
const unreadable = z.object({ id: z.string(), directory: z.string(), error: failure })

const extent = z.object({
  /** That begin anew: members of a population, but no clones. */
  trials: count,
  /** Of a trial that trains to its end. */
  steps: count,
  /** Of all trials, early stopping counted. */
  totalSteps: z.number(),
  /** Trials at the same time, and how that comes about, in words. */
  parallel: count,
  sharing: z.string(),
})

const estimate = extent.extend({
  /** Until it is over. */
  seconds: z.object({ low: z.number(), expected: z.number(), high: z.number() }),
  /** `baseBytes`: mapped once for all; `ownBytes`: of each trial that trains; `neededBytes`: of all that train together. */
  memory: z.object({ baseBytes: count, ownBytes: count, neededBytes: count, availableBytes: count }),
  disk: z.object({ neededBytes: count, freeBytes: count }),
  warnings: z.array(z.string()),
  /** Of one trial alone; the heaviest that was tried. */
  run: calibration,
})

const one = z.object({ id: studyId })

/** Without `trial`: the best of those who got furthest. */
const choice = one.extend({ trial: count.optional() })
const chosen = { trial: count, step: count, fitness: z.number() }

export const studiesApi = {
  /** The newest first. */
  list: query(z.void(), z.object({ studies: z.array(summary), unreadable: z.array(unreadable) })),
  get: query(one, entry),
  importance: query(one, importance),
  /** What a file would come to; nothing is started. */
  check: query(
    z.object({ file: z.custom<JsonObject>(isObject) }),
    z.union([
      z.object({ problems: z.array(problem) }),
      extent.extend({
        /** Of the first trial, as `runs.check` answers. */
        rows: count,
        device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
        warnings: z.array(problem),
      }),
    ]),
  ),
  /**
   * Takes one step with one group, as `runs.calibrate` does, and tells what the whole study will need; of the lightest and the heaviest
   * trial where a searched setting decides how much a step computes.
   */
  calibrate: stream(z.object({ file: z.custom<JsonObject>(isObject) }), progressOr(estimate)),
  start: command(z.object({ file: z.custom<JsonObject>(isObject) }), z.object({ id: z.string() })),
  /** Trials stop after their current step. */
  stop: command(one, z.void()),
  resume: command(one, z.void()),
  /** For good; its runs and what was promoted stay. */
  delete: command(one, z.void()),
  /** The config of a trial as that of an ordinary run, and where the trial was compared last. */
  exportConfig: query(choice, z.object({ ...chosen, config: z.custom<JsonObject>(isObject) })),
  /**
   * Copies the checkpoint at which a trial was compared last to an adapter with a name, which stays when checkpoints, runs or the
   * study are deleted. Without `name`: after study, trial and step.
   */
  promote: command(choice.extend({ name: z.string().max(100).optional() }), adapterSummary),
  watch: feed(z.void(), z.object({ cursor })),
}

export type StudyEntry = Immutable<z.output<typeof entry>>
export type StudySummary = Immutable<z.output<typeof summary>>
export type UnreadableStudy = Immutable<z.output<typeof unreadable>>
export type StudyTrial = Immutable<z.output<typeof trial>>
export type StudyImportance = Immutable<z.output<typeof importance>>

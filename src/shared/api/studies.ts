/** Studies: populations, sweeps and runs over seeds, which train trials, compare them and continue with the best. */
import { z } from 'zod'
import type { JsonObject } from '../config/paths.ts'
import { studyKinds, trial, trialResult, type Search } from '../studies.ts'
import { deviceKinds } from '../device.ts'
import { calibration } from './calibration.ts'
import { count, cursor, failure, instant, problem, progressOr, studyId } from './common.ts'
import { command, feed, query, stream, type Immutable } from './contract.ts'
import { adapterSummary } from './models.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

/** `waiting`: for a host that continues it; `interrupted`: its process died. */
export const studyStatus = z.enum(['running', 'waiting', 'stopped', 'finished', 'failed', 'interrupted'])

const startedTrial = trial.extend({
  /** Null: not started. */
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
  /** Values of the searched settings in the config, by dotted key, for trials without their own. */
  start: z.custom<JsonObject>(isObject),
  /** Steps of a trial that is not stopped early. */
  steps: count,
  parallel: count,
  /** Totals over all trials, up to their last results. */
  trained: z.object({ steps: count, tokens: z.number(), seconds: z.number() }),
  /** Total steps of all trials at the end; an upper limit if there is a budget. */
  plannedSteps: count,
  trials: z.array(startedTrial),
  /** Trials being trained, or next. */
  pending: z.array(z.object({ trial: count, until: count })).readonly(),
  /** Best of the trials that got furthest. */
  best: trialResult.extend({ runId: z.string().nullable() }).nullable(),
  /** File as given, with absolute paths. */
  file: z.custom<JsonObject>(isObject),
})

/** Influence of each searched setting on fitness (`rl/studies/importance.ts`); unknown if `settings` is empty. */
const importance = z.object({
  /** Number of results used, and the number required. */
  results: count,
  needed: count,
  /** Step at which trials are compared; null: in a population, where results of every generation count. */
  step: count.nullable(),
  /** Fraction of the variance of fitness explained by the settings, on held-out results. */
  explained: z.number().nullable(),
  /** Most important first. */
  settings: z.array(
    z.object({
      key: z.string(),
      /** Fraction of the variance of fitness: about 0 without influence, up to 1. */
      share: z.number(),
      /** 95 %; null: no result distinguishes the setting. */
      interval: z.object({ low: z.number(), high: z.number() }).nullable(),
      /** Correlation with better results; null if the values have no order. */
      correlation: z.number().nullable(),
      /** Better direction, if share and correlation exceed chance. */
      better: z.enum(['more', 'less']).nullable(),
    }),
  ),
})
/** Study in a list: counts in place of its trials. */
const summary = entry
  .omit({ search: true, trials: true, pending: true, file: true })
  .extend({ kind: z.enum(studyKinds), metric: z.string(), trials: count })

/** Folder with an unreadable study, and the reason. */
const unreadable = z.object({ id: z.string(), directory: z.string(), error: failure })

const extent = z.object({
  /** Trials with a new start: members of a population, without clones. */
  trials: count,
  /** Steps of a trial that is not stopped early. */
  steps: count,
  /** Steps of all trials, with early stopping taken into account. */
  totalSteps: z.number(),
  /** Number of concurrent trials, and how it is determined, in words. */
  parallel: count,
  sharing: z.string(),
})

const estimate = extent.extend({
  /** Remaining time. */
  seconds: z.object({ low: z.number(), expected: z.number(), high: z.number() }),
  /** `baseBytes`: mapped once for all; `ownBytes`: per training trial; `neededBytes`: for all that train together. */
  memory: z.object({ baseBytes: count, ownBytes: count, neededBytes: count, availableBytes: count }),
  disk: z.object({ neededBytes: count, freeBytes: count }),
  warnings: z.array(z.string()),
  /** Estimate of one trial alone, the heaviest one tried. */
  run: calibration,
})

const one = z.object({ id: studyId })

/** Without `trial`: the best of those that got furthest. */
const choice = one.extend({ trial: count.optional() })
const chosen = { trial: count, step: count, fitness: z.number() }

export const studiesApi = {
  /** Newest first. */
  list: query(z.void(), z.object({ studies: z.array(summary), unreadable: z.array(unreadable) })),
  get: query(one, entry),
  importance: query(one, importance),
  /** Computes the extent of a study; nothing is started. */
  check: query(
    z.object({ file: z.custom<JsonObject>(isObject) }),
    z.union([
      z.object({ problems: z.array(problem) }),
      extent.extend({
        /** Facts of the first trial, as in `runs.check`. */
        rows: count,
        device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
        warnings: z.array(problem),
      }),
    ]),
  ),
  /**
   * Takes one step with one group, as `runs.calibrate` does, and estimates the whole study; with the lightest and the
   * heaviest trial if a searched setting determines how much a step computes.
   */
  calibrate: stream(z.object({ file: z.custom<JsonObject>(isObject) }), progressOr(estimate)),
  start: command(z.object({ file: z.custom<JsonObject>(isObject) }), z.object({ id: z.string() })),
  /** Stops trials after their current step. */
  stop: command(one, z.void()),
  resume: command(one, z.void()),
  /** Deletes it permanently; its runs and promoted adapters stay. */
  delete: command(one, z.void()),
  /** Returns the config of a trial as that of an ordinary run, and the step of its last comparison. */
  exportConfig: query(choice, z.object({ ...chosen, config: z.custom<JsonObject>(isObject) })),
  /**
   * Copies the checkpoint of a trial's last comparison to a named adapter, which stays when checkpoints, runs or the
   * study are deleted. Without `name`: named after study, trial and step.
   */
  promote: command(choice.extend({ name: z.string().max(100).optional() }), adapterSummary),
  watch: feed(z.void(), z.object({ cursor })),
}

export type StudyEntry = Immutable<z.output<typeof entry>>
export type StudySummary = Immutable<z.output<typeof summary>>
export type UnreadableStudy = Immutable<z.output<typeof unreadable>>
export type StudyTrial = Immutable<z.output<typeof startedTrial>>
export type StudyImportance = Immutable<z.output<typeof importance>>

/** Runs: their history, and the processes that train them. */
import { z } from 'zod'
import { settingChange } from '../config/changes.ts'
import type { JsonObject } from '../config/paths.ts'
import { deviceKinds } from '../device.ts'
import { toolIds } from '../tools.ts'
import type { Diagnosis } from '../diagnosis.ts'
import type { StepPhase } from '../events.ts'
import type { RunConfig, runConfigSchema } from '../runConfig.ts'
import { remark, runEntry, runRecord, runStatuses } from '../runs.ts'
import { calibration } from './calibration.ts'
import {
  count,
  cursor,
  failure,
  fileSource,
  instant,
  name,
  problem,
  pageSize,
  path,
  progressOr,
  runId,
} from './common.ts'
import { command, feed, query, stream } from './contract.ts'

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const status = z.enum(runStatuses)
const tags = z.array(z.string().min(1).max(50)).max(50)

/**
 * The settings of a run as its config file has them; `parseRunConfig` is the one judge of them, so that the window, the
 * command line and this API say the same about a wrong one.
 */
const runConfig = z.custom<z.input<typeof runConfigSchema>>(isObject)

/** What is known of a living process. */
const worker = z.object({
  runId: z.string(),
  pid: z.int().nullable(),
  activity: z.enum(['starting', 'running', 'pausing', 'paused', 'stopping']),
  /** What its step is at; null until it has told. */
  stepPhase: z.custom<StepPhase>((value) => typeof value === 'string').nullable(),
  /** Completions of that part of the step. */
  phaseProgress: z.object({ done: count, total: count }).nullable(),
  startedAt: instant,
  lastHeardAt: instant,
  /** No sign of life for longer than it may take. */
  isSilent: z.boolean(),
})

/** Seconds from `since` on, an instant; see #shared/remaining.ts. */
const remaining = z.object({
  runId: z.string(),
  since: instant,
  secondsPerStep: z.number().nullable(),
  low: z.number(),
  high: z.number(),
  current: z.number(),
  laterStages: count,
})

/** As the run's log has it: `type`, `at` and the fields of that event; see #shared/events.ts. */
const storedEvent = z.object({
  id: count,
  seq: count,
  event: z.looseObject({ type: z.string(), at: instant }),
})

const one = z.object({ runId })

/** Settings by dotted name, such as optimization.learningRate. */
const changes = z.record(z.string(), z.unknown())

const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly()

const lookAt = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('samples'), fromStep: count, toStep: count }),
  z.object({ kind: z.literal('reward'), name: z.string() }),
  z.object({ kind: z.literal('checkpoint'), step: count }),
  z.object({ kind: z.literal('selftest') }),
])

const finding = remark.extend({
  evidence: list(z.object({ of: z.string(), value: z.number().nullable(), fromStep: count, toStep: count })),
  proposals: list(
    z.object({
      words: z.string(),
      changes: z.record(z.string(), z.unknown()),
      from: z.union([z.literal('newest'), z.literal('start'), count]),
      lookAt: lookAt.nullable(),
    }),
  ),
})

const diagnosis = z.object({
  stage: count.nullable(),
  firstStep: count,
  steps: count,
  findings: list(finding),
  soundUntil: count.nullable(),
  checks: list(
    z.object({
      title: z.string(),
      metric: z.string().nullable(),
      before: z.number().nullable(),
      value: z.number(),
      unit: z.enum(['share', 'nats', 'reward', 'times', 'count']),
      limit: z.string(),
      isWithin: z.boolean(),
    }),
  ),
}) satisfies z.ZodType<Diagnosis>

export const runsApi = {
  /** The newest first; `before` is the id of the last one of the page before. */
  list: query(
    z.object({
      status: status.optional(),
      tag: z.string().optional(),
      text: z.string().max(200).optional(),
      limit: pageSize(100, 1000),
      before: runId.optional(),
    }),
    z.array(runEntry),
  ),
  get: query(one, runRecord),
  tags: query(z.void(), z.array(z.object({ tag: z.string(), runs: count }))),
  /** Ancestors and forks, the oldest first. */
  family: query(one, z.array(runEntry)),
  /** The runs that differ in nothing but their seed, together: the ids of each such family. */
  seedFamilies: query(z.void(), list(list(runId))),
  /** All but steps and samples, in order. */
  events: query(
    z.object({ runId, after: count.optional(), limit: pageSize(500, 5000) }),
    z.array(storedEvent),
  ),
  /** What its numbers and samples say is wrong with it, and what to change; no findings where all is well. */
  diagnosis: query(one, diagnosis),
  /** The end of what its process wrote to the standard error. */
  log: query(z.object({ runId, maxBytes: z.int().min(1).max(1_000_000).default(65_536) }), z.string()),
  /** What deleting it would remove. */
  files: query(one, z.array(z.object({ path: z.string(), sizeBytes: count }))),
  workers: query(z.void(), z.array(worker)),

  /** The run that comes with the program, offline and over in a minute, and the tag that tells such runs from one's own. */
  sample: query(z.void(), z.object({ config: runConfig, tag: z.string() })),
  /** What the settings come to, or every problem of it; starts nothing. */
  check: query(
    z.object({ config: runConfig }),
    z.union([
      /** `rows` to train on; those whose prompt turns out to be too long shorten the run. */
      z.object({
        config: z.custom<RunConfig>(isObject),
        steps: count,
        rows: count,
        /** Where it would compute, and why there. */
        device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
        /** What can be done but is hardly meant. */
        warnings: list(problem),
      }),
      z.object({ problems: list(problem) }),
    ]),
  ),
  /**
   * Takes one step with one group of the longest row, for real and for every stage, and tells what the run will need;
   * nothing of it is kept. Phases: Loading, Generating, Scoring, Learning.
   */
  calibrate: stream(z.object({ config: runConfig }), progressOr(calibration)),
  /** Makes a run and starts it, or puts it at the end of the queue. */
  start: command(
    z.object({
      config: runConfig,
      tags: tags.default([]),
      queue: z.boolean().default(false),
      continueOnError: z.boolean().default(false),
    }),
    z.object({ runId: z.string() }),
  ),
  pause: command(one, z.void()),
  /** What changing settings comes to where the run goes on, or every problem of it; changes nothing. */
  checkChanges: query(
    z.object({ runId, step: count.optional(), changes }),
    z.union([
      z.object({
        /** Steps completed; the changes apply from the next one on. */
        step: count,
        made: list(settingChange),
        /** Length of the run with them. */
        steps: count,
        warnings: list(problem),
      }),
      z.object({ problems: list(problem) }),
    ]),
  ),
  /** Goes on after a pause, with `changes` from the next step on. */
  unpause: command(z.object({ runId, changes: changes.optional() }), z.void()),
  /**
   * Trains on from the last whole checkpoint, or from the one of `step`, with `changes` from the step after it on. `fallBack`
   * says why not from the newest.
   */
  resume: command(
    z.object({ runId, step: count.optional(), changes: changes.optional() }),
    z.object({ step: count, fallBack: z.string().nullable() }),
  ),
  /** Ends after the step it is in, with a checkpoint. */
  stop: command(one, z.void()),
  /** Ends at once; what came after the last checkpoint is trained again when it is resumed. */
  kill: command(one, z.void()),
  /** A new run from a checkpoint of this one. */
  fork: command(
    z.object({
      runId,
      step: count,
      changes: changes.default({}),
      start: z.boolean().default(true),
    }),
    z.object({ runId: z.string() }),
  ),
  /** Puts it into the trash, where it stays for a week; refused while it is trained. */
  delete: command(one, z.void()),
  /** What is in the trash, the last deleted first. `until`: when it is removed for good. */
  trash: query(
    z.void(),
    z.array(
      z.object({ runId, name: z.string().nullable(), deletedAt: instant, until: instant, sizeBytes: count }),
    ),
  ),
  /** Takes it out of the trash again, with its name, tags and notes. */
  restore: command(one, z.void()),
  /** Removes all of the trash for good, or some of it. */
  emptyTrash: command(z.object({ runIds: z.array(runId).optional() }), z.object({ freedBytes: count })),
  rename: command(z.object({ runId, name: name.nullable() }), z.void()),
  setTags: command(z.object({ runId, tags }), z.void()),
  setNotes: command(z.object({ runId, notes: z.string().max(100_000) }), z.void()),
  /** Writes one file with config, manifest, metrics and events. A file that is there is replaced only with `overwrite`. */
  exportBundle: command(
    z.object({ runId, path, overwrite: z.boolean().default(false) }),
    z.object({ path: z.string(), sizeBytes: count }),
  ),
  /**
   * Takes such a file into the history, as a finished run with the tag `imported`: to look at and to compare. Checkpoints
   * and samples are not in it.
   */
  importBundle: command(z.object({ source: fileSource }), z.object({ runId: z.string() })),

  /**
   * The settings of another tool as a run config, with a note on each that was not taken over or was filled in; `tool` and
   * `algorithm` null: their names tell, and where they do not, the error asks. A population of AgileRL and a sweep of W&B come with the section of a study.
   */
  importConfig: query(
    z.object({
      text: z.string().max(1_000_000),
      tool: z.enum(toolIds).nullable(),
      algorithm: z.string().nullable().default(null),
    }),
    z.object({
      /** A sentence on what the file was taken for and by which names. */
      reading: z.string(),
      /** null: settings of ours, in a sweep. */
      tool: z.enum(toolIds).nullable(),
      config: z.custom<RunConfig>(isObject),
      /** `{ population }` or `{ sweep }`: with `config` the file of a study; null: a single run. */
      study: z.custom<JsonObject>(isObject).nullable(),
      /** Settings of ours and the names in the file that each was made of. */
      taken: z.array(z.object({ ours: z.string(), value: z.unknown(), theirs: z.array(z.string()) })),
      notes: z.array(
        z.object({ kind: z.enum(['left-out', 'filled-in', 'changed']), name: z.string(), text: z.string() }),
      ),
    }),
  ),
  /**
   * Writes a run, or a config, as a folder that TRL or AgileRL starts from. `step`: the checkpoint whose adapter training
   * there begins with; `notes`: the differences from Turnwise.
   */
  exportProject: command(
    z.object({
      source: z.union([
        z.strictObject({ runId, step: count.optional() }),
        z.strictObject({ config: runConfig }),
      ]),
      tool: z.enum(['trl', 'agilerl']),
      path,
    }),
    z.object({
      directory: z.string(),
      tool: z.enum(['trl', 'agilerl']),
      version: z.string(),
      files: z.array(z.string()),
      notes: z.array(z.string()),
      fixtures: count,
    }),
  ),

  /** First, and after a lost connection, everything (`isWhole`); then runs that are new or changed, ids that are gone. */
  watch: feed(
    z.void(),
    z.object({
      cursor,
      isWhole: z.boolean(),
      runs: z.array(runEntry),
      removed: z.array(z.string()),
      workers: z.array(worker),
      /** Folders that hold a run which cannot be read, with the reason; `directory` null: the history itself is behind. */
      /** Runs whose folders are still to be read: they follow. */
      pending: count,
      unreadable: z.array(z.object({ directory: z.string().nullable(), error: failure })),
      /** How long those that train still take, as far as it is known. */
      remaining: list(remaining),
    }),
  ),
  /**
   * One run: its entry as it is now, its new events, and the steps that have new samples. An event `resumed` voids those
   * whose `seq` is not below its `keep`.
   */
  follow: feed(
    one,
    z.object({ cursor, run: runEntry, events: z.array(storedEvent), sampleSteps: z.array(count) }),
  ),
}

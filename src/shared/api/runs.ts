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
  estimate,
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
 * Settings of a run as in its config file, validated by `parseRunConfig` alone, so that the window, the command line
 * and this API report the same errors.
 */
const runConfig = z.custom<z.input<typeof runConfigSchema>>(isObject)

/** State of a live process. */
const worker = z.object({
  runId: z.string(),
  pid: z.int().nullable(),
  activity: z.enum(['starting', 'running', 'pausing', 'paused', 'stopping']),
  /** Phase of the current step; null before the first report. */
  stepPhase: z.custom<StepPhase>((value) => typeof value === 'string').nullable(),
  phaseProgress: z.object({ done: count, total: count }).nullable(),
  startedAt: instant,
  lastHeardAt: instant,
  /** True if it has not reported for longer than it may take. */
  isSilent: z.boolean(),
})

/** Estimated seconds from the instant `since`; see #shared/remaining.ts. */
const remaining = z.object({
  runId: z.string(),
  since: instant,
  secondsPerStep: z.number().nullable(),
  low: z.number(),
  high: z.number(),
  current: z.number(),
  laterStages: count,
})

/** Event as in the run's log: `type`, `at` and its own fields; see #shared/events.ts. */
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

const comparison = z.object({
  runs: list(
    z.object({
      id: z.string(),
      name: z.string().nullable(),
      status,
      step: count,
      /** Values by dotted setting, without those equal in all runs. */
      settings: z.record(z.string(), z.unknown()),
      metrics: z.record(z.string(), z.number().nullable()),
    }),
  ),
  /** Runs that differ only in their seed: means with 95 % intervals over the `count` seeds that got furthest. */
  families: list(
    z.object({
      name: z.string(),
      runIds: list(z.string()),
      count,
      step: count,
      metrics: z.record(z.string(), estimate.nullable()),
    }),
  ),
})

export const runsApi = {
  /** Newest first; `before`: id of the last run on the previous page. */
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
  /** Ancestors and forks, oldest first. */
  family: query(one, z.array(runEntry)),
  /** Compares settings and last metrics; `metrics` empty: reward and related ones. */
  compare: query(
    z.object({ runIds: z.array(runId).min(1).max(64), metrics: z.array(name).max(200).default([]) }),
    comparison,
  ),
  /**
   * A report of runs as one HTML file that needs nothing else. The first run is the baseline; `metrics` empty: those that a
   * comparison shows first.
   */
  report: query(
    z.object({ runIds: z.array(runId).min(1).max(16), metrics: z.array(name).max(200).default([]) }),
    z.object({ html: z.string() }),
  ),
  /** Families of runs that differ only in their seed, each a list of ids. */
  seedFamilies: query(z.void(), list(list(runId))),
  /** All events except steps and samples, in order. */
  events: query(
    z.object({ runId, after: count.optional(), limit: pageSize(500, 5000) }),
    z.array(storedEvent),
  ),
  /** Problems found in its metrics and samples, with proposed changes; no findings if all is well. */
  diagnosis: query(one, diagnosis),
  /** End of its process's standard error. */
  log: query(z.object({ runId, maxBytes: z.int().min(1).max(1_000_000).default(65_536) }), z.string()),
  /** Files that deleting it would remove. */
  files: query(one, z.array(z.object({ path: z.string(), sizeBytes: count }))),
  workers: query(z.void(), z.array(worker)),

  /** Config of the sample run, which needs no network and takes about a minute, and the tag of such runs. */
  sample: query(z.void(), z.object({ config: runConfig, tag: z.string() })),
  /** Validates the settings and reports every problem; starts nothing. */
  check: query(
    z.object({ config: runConfig }),
    z.union([
      /** Number of training rows; those whose prompt turns out to be too long shorten the run. */
      z.object({
        config: z.custom<RunConfig>(isObject),
        steps: count,
        rows: count,
        /** Device the run would use, and the reason for the choice. */
        device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
        /** Settings that are valid but probably unintended. */
        warnings: list(problem),
      }),
      z.object({ problems: list(problem) }),
    ]),
  ),
  /**
   * Takes one real step with one group of the longest row in every stage, and estimates the run's resources; nothing of
   * it is kept. Phases: Loading, Generating, Scoring, Learning.
   */
  calibrate: stream(z.object({ config: runConfig }), progressOr(calibration)),
  /** Creates a run and starts it, or puts it at the end of the queue. */
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
  /** Validates changes of settings for a run about to continue and reports every problem; changes nothing. */
  checkChanges: query(
    z.object({ runId, step: count.optional(), changes }),
    z.union([
      z.object({
        /** Steps completed; the changes apply from the next one on. */
        step: count,
        made: list(settingChange),
        /** Total steps with the changes. */
        steps: count,
        warnings: list(problem),
      }),
      z.object({ problems: list(problem) }),
    ]),
  ),
  /** Continues after a pause, with `changes` from the next step on. */
  unpause: command(z.object({ runId, changes: changes.optional() }), z.void()),
  /**
   * Continues training from the last complete checkpoint, or from that of `step`, with `changes` from the step after it
   * on. `fallBack`: why not from the newest.
   */
  resume: command(
    z.object({ runId, step: count.optional(), changes: changes.optional() }),
    z.object({ step: count, fallBack: z.string().nullable() }),
  ),
  /** Ends after the current step, with a checkpoint. */
  stop: command(one, z.void()),
  /** Ends at once; steps after the last checkpoint are trained again on resuming. */
  kill: command(one, z.void()),
  fork: command(
    z.object({
      runId,
      step: count,
      changes: changes.default({}),
      start: z.boolean().default(true),
    }),
    z.object({ runId: z.string() }),
  ),
  /** Moves it to the trash, where it stays for a week; refused while it is trained. */
  delete: command(one, z.void()),
  /** Lists the trash, last deleted first. `until`: time of permanent removal. */
  trash: query(
    z.void(),
    z.array(
      z.object({ runId, name: z.string().nullable(), deletedAt: instant, until: instant, sizeBytes: count }),
    ),
  ),
  /** Restores it from the trash, with its name, tags and notes. */
  restore: command(one, z.void()),
  /** Empties the trash, or removes some runs in it permanently. */
  emptyTrash: command(z.object({ runIds: z.array(runId).optional() }), z.object({ freedBytes: count })),
  rename: command(z.object({ runId, name: name.nullable() }), z.void()),
  setTags: command(z.object({ runId, tags }), z.void()),
  setNotes: command(z.object({ runId, notes: z.string().max(100_000) }), z.void()),
  /** Writes one file with config, manifest, metrics and events. An existing file is replaced only with `overwrite`. */
  exportBundle: command(
    z.object({ runId, path, overwrite: z.boolean().default(false) }),
    z.object({ path: z.string(), sizeBytes: count }),
  ),
  /**
   * Adds such a file to the history, as a finished run with the tag `imported`, to look at and compare. It contains no
   * checkpoints or samples.
   */
  importBundle: command(z.object({ source: fileSource }), z.object({ runId: z.string() })),

  /**
   * Converts another tool's settings to a run config, with a note on each that was not taken over or was filled in;
   * `tool` and `algorithm` null: detected by names, or an error asks for them. A population of AgileRL and a
   * sweep of W&B are returned with the section of a study.
   */
  importConfig: query(
    z.object({
      text: z.string().max(1_000_000),
      tool: z.enum(toolIds).nullable(),
      algorithm: z.string().nullable().default(null),
    }),
    z.object({
      /** Sentence on how the file was interpreted and by which names. */
      reading: z.string(),
      /** Null: Turnwise's own settings, in a sweep. */
      tool: z.enum(toolIds).nullable(),
      config: z.custom<RunConfig>(isObject),
      /** `{ population }` or `{ sweep }`: the file of a study together with `config`; null: a single run. */
      study: z.custom<JsonObject>(isObject).nullable(),
      /** Our settings, with the names in the file that each was derived from. */
      taken: z.array(z.object({ ours: z.string(), value: z.unknown(), theirs: z.array(z.string()) })),
      notes: z.array(
        z.object({ kind: z.enum(['left-out', 'filled-in', 'changed']), name: z.string(), text: z.string() }),
      ),
    }),
  ),
  /**
   * Writes a run, or a config, as a folder that TRL or AgileRL starts from. `step`: checkpoint with the initial
   * adapter; `notes`: differences from Turnwise.
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

  /** Sends everything first and after a lost connection (`isWhole`), then new or changed runs, and ids that are gone. */
  watch: feed(
    z.void(),
    z.object({
      cursor,
      isWhole: z.boolean(),
      runs: z.array(runEntry),
      removed: z.array(z.string()),
      workers: z.array(worker),
      /** Folders with an unreadable run, with the reason; `directory` null: the history itself is out of date. */
      /** Number of runs whose folders are yet to be read. */
      pending: count,
      unreadable: z.array(z.object({ directory: z.string().nullable(), error: failure })),
      remaining: list(remaining),
    }),
  ),
  /**
   * One run: its current entry, its new events, and the steps with new samples. An event `resumed` voids those whose
   * `seq` is not below its `keep`.
   */
  follow: feed(
    one,
    z.object({ cursor, run: runEntry, events: z.array(storedEvent), sampleSteps: z.array(count) }),
  ),
}

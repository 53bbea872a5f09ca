/** What a run looks like from outside: in a list, and in full. */
import { z } from 'zod'
import { count, failure, instant } from './api/common.ts'
import { settingChange } from './config/changes.ts'
import type { FindingId, Remark } from './diagnosis.ts'
import type { ErrorCode } from './errors.ts'
import type { RunManifest, RunPhase } from './events.ts'

export const runStatuses = [
  'new',
  'queued',
  'running',
  'paused',
  'finished',
  'stopped',
  'failed',
  'interrupted',
] as const

/** `interrupted`: its process died; it can be resumed. */
export type RunStatus = (typeof runStatuses)[number]

/** Why a run failed. */
export interface RunFailure {
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint: string | null
}

export const remark = z.object({
  id: z.custom<FindingId>((value) => typeof value === 'string'),
  severity: z.enum(['note', 'warning', 'problem']),
  words: z.string(),
}) satisfies z.ZodType<Remark>

/**
 * A run in a list. Each of these is a column of the history's table `runs`, by the same name with underscores
 * (`rewardBefore`: `reward_before`), but for those that host/store/runs.ts names.
 */
export const runEntry = z.object({
  id: z.string(),
  name: z.string().nullable(),
  directory: z.string(),
  createdAt: instant,
  updatedAt: instant,
  status: z.enum(runStatuses),
  phase: z.custom<RunPhase>((value) => typeof value === 'string').nullable(),
  /** Steps completed, of `steps`; `steps` is null until the run has begun. */
  step: count,
  steps: count.nullable(),
  algorithm: z.string(),
  seed: z.number(),
  model: z.string(),
  /** Mean reward of the last step. */
  reward: z.number().nullable(),
  /** Eval reward with greedy decoding, at the first and the last evaluation. */
  rewardBefore: z.number().nullable(),
  rewardAfter: z.number().nullable(),
  /** Of its settings since it began, in the order of their steps. */
  settingChanges: z.array(settingChange).readonly(),
  /** The run it was forked from and the step of the checkpoint it began with; null for one that is no fork. */
  parentRunId: z.string().nullable(),
  parentCheckpointStep: count.nullable(),
  /** The study it is part of, and which of its trials; null for a run on its own. */
  studyId: z.string().nullable(),
  trial: count.nullable(),
  tags: z.array(z.string()).readonly(),
  notes: z.string(),
  /** The gravest of what its numbers say is wrong, as the run said last; null where all is well. */
  finding: remark.nullable(),
  error: failure.nullable(),
  /** The end of what its process wrote to the standard error before it died. */
  stderrTail: z.string().nullable(),
})
export type RunEntry = Readonly<z.infer<typeof runEntry>>

/** As its folder tells at a glance. */
export type RunSummary = Pick<
  RunEntry,
  | 'id'
  | 'name'
  | 'directory'
  | 'createdAt'
  | 'status'
  | 'step'
  | 'steps'
  | 'algorithm'
  | 'seed'
  | 'model'
  | 'reward'
  | 'rewardBefore'
  | 'rewardAfter'
>

/** All that the history knows of a run. */
export const runRecord = runEntry.extend({
  /** The text of its config.json. */
  config: z.string(),
  manifest: z.custom<RunManifest>((value) => typeof value === 'object').nullable(),
})
export type RunRecord = Readonly<z.infer<typeof runRecord>>

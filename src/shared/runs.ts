/** Public data of a run: in a list, and in full. */
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

/** Status of a run; `interrupted`: its process died; it can be resumed. */
export type RunStatus = (typeof runStatuses)[number]

const endedStatuses: ReadonlySet<RunStatus> = new Set(['finished', 'stopped', 'failed', 'interrupted'])

/** True for a run that takes no further step unless it is resumed. */
export const isEnded = (status: RunStatus): boolean => endedStatuses.has(status)

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
 * Run in a list. Each field is a column of the history's table `runs`, by the same name with underscores
 * (`rewardBefore`: `reward_before`), except those listed in host/store/runs.ts.
 */
export const runEntry = z.object({
  id: z.string(),
  name: z.string().nullable(),
  directory: z.string(),
  createdAt: instant,
  updatedAt: instant,
  status: z.enum(runStatuses),
  phase: z.custom<RunPhase>((value) => typeof value === 'string').nullable(),
  /** Steps completed, of `steps`, which is null until the run has begun. */
  step: count,
  steps: count.nullable(),
  /** Id of the algorithm; of a loss from a file its name. */
  algorithm: z.string(),
  /** Name of the algorithm for people: “GRPO”. */
  algorithmTitle: z.string(),
  seed: z.number(),
  model: z.string(),
  /** Mean reward of the last step. */
  reward: z.number().nullable(),
  /** Eval reward with greedy decoding, at the first and the last evaluation. */
  rewardBefore: z.number().nullable(),
  rewardAfter: z.number().nullable(),
  /** Changes of its settings since its start, sorted by step. */
  settingChanges: z.array(settingChange).readonly(),
  /** Parent run, and the step of the initial checkpoint; null for a run that is not a fork. */
  parentRunId: z.string().nullable(),
  parentCheckpointStep: count.nullable(),
  /** Study it is part of, and the index of its trial; null for a run on its own. */
  studyId: z.string().nullable(),
  trial: count.nullable(),
  tags: z.array(z.string()).readonly(),
  notes: z.string(),
  /** Most severe problem in its metrics, as last reported by the run; null if all is well. */
  finding: remark.nullable(),
  error: failure.nullable(),
  /** End of its process's standard error before it died. */
  stderrTail: z.string().nullable(),
})
export type RunEntry = Readonly<z.infer<typeof runEntry>>

/** Everything that the history stores about a run. */
export const runRecord = runEntry.extend({
  /** Text of its config.json. */
  config: z.string(),
  manifest: z.custom<RunManifest>((value) => typeof value === 'object').nullable(),
})
export type RunRecord = Readonly<z.infer<typeof runRecord>>

/** What is told of a run: by its folder at a glance, by the history in full. */
import type { Remark } from './diagnosis.ts'
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

export interface RunSummary {
  readonly id: string
  readonly name: string | null
  readonly directory: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly status: RunStatus
  /** Steps completed, of `steps`; `steps` is null until the run has begun. */
  readonly step: number
  readonly steps: number | null
  readonly algorithm: string
  readonly seed: number
  readonly model: string
  /** Mean reward of the last step. */
  readonly reward: number | null
  /** Eval reward with greedy decoding, at the first and the last evaluation. */
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
}

/** Why a run failed. */
export interface RunFailure {
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint: string | null
}

/** A run in a list of the history. */
export interface RunEntry extends RunSummary {
  readonly phase: RunPhase | null
  /** The run it was forked from and the step of the checkpoint it began with; both null for a run of its own. */
  readonly parentRunId: string | null
  readonly parentCheckpointStep: number | null
  readonly tags: readonly string[]
  readonly notes: string
  /** The gravest of what its numbers say is wrong, as the run said last; null where all is well. */
  readonly finding: Remark | null
  readonly error: RunFailure | null
  /** The end of what its process wrote to the standard error before it died. */
  readonly lastWords: string | null
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** All that the history knows of a run. */
export interface RunRecord extends RunEntry {
  /** The text of its config.json. */
  readonly config: string
  readonly manifest: RunManifest | null
}

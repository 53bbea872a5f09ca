/** The result of one step on the longest row, before the run is created. */
import type { DeviceKind } from '#shared/device.ts'
import type { TrajectorySample } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Job } from '#host/processes/job.ts'
import type { Estimate } from '#rl/training/stepEstimate.ts'

export const calibrationPhases = ['loading', 'generating', 'scoring', 'learning'] as const

export type CalibrationNews =
  | { readonly phase: (typeof calibrationPhases)[number]; readonly stage: number; readonly stages: number }
  | { readonly report: CalibrationReport }

export interface CalibrationInput {
  /** Paths are absolute. */
  readonly config: RunConfig
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

export const calibrationJob: Job<'check', CalibrationInput, CalibrationNews> = { name: 'check' }

export interface CalibrationReport {
  /** Device on which it was tried, and the reason. */
  readonly device: { readonly kind: DeviceKind; readonly reason: string }
  /** Threads that it used, and physical cores there are for all. */
  readonly processor: { readonly threads: number; readonly cores: number }
  /** Largest of the process, from its first moment on. */
  readonly memory: {
    /** Allocated bytes, which no other program can have at the same time. */
    readonly anonymousBytes: number
    /** Total including the mapped pages of weight files. */
    readonly totalBytes: number
    /** Bytes that a whole step allocates, in which more and longer rows are generated together. */
    readonly expectedBytes: number
  }
  /** Stages in the order of the run; a single one where the run has none. */
  readonly stages: readonly CalibratedStage[]
}

export interface CalibratedStage {
  readonly steps: number
  /** Place of the longest row in its data set, from 0. */
  readonly row: number
  readonly promptTokens: number
  /** Rows that are left out because they are too long. */
  readonly tooLong: number
  /** Name of the teacher whose context they exceed; absent: it is the model's. */
  readonly teacher?: string | undefined
  /** Completions take part by their rewards. */
  readonly needsRewards: boolean
  /** Time that the one group took, not a whole step. */
  readonly seconds: {
    readonly loading: number
    readonly generating: number
    readonly scoring: number
    readonly learning: number
  }
  /** Time for the programs that a process prepares in its first step. */
  readonly warmUpSeconds: number
  readonly secondsPerStep: Estimate
  readonly tokensPerStep: number
  readonly evaluations: number
  readonly secondsPerEvaluation: number
  readonly checkpointBytes: number
  readonly secondsPerCheckpoint: number
  /** Bytes that a step adds to log and history. */
  readonly logBytesPerStep: number
  readonly samples: readonly (Omit<TrajectorySample, 'arrays' | 'advantage'> & {
    readonly preference: 'chosen' | 'rejected' | null
  })[]
}

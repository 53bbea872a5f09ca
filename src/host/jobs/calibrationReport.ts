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
  /** Where weights are prepared. */
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

export const calibrationJob: Job<'check', CalibrationInput, CalibrationNews> = { name: 'check' }

export interface CalibrationReport {
  /** Where it was tried, and why there. */
  readonly device: { readonly kind: DeviceKind; readonly reason: string }
  /** Threads that it used, and physical cores there are for all. */
  readonly processor: { readonly threads: number; readonly cores: number }
  /** Largest of the process, from its first moment on. */
  readonly memory: {
    /** Allocated: what no other program can have meanwhile. */
    readonly anonymousBytes: number
    /** With the mapped pages of weight files. */
    readonly totalBytes: number
    /** Allocated by a whole step, in which more and longer rows are generated together. */
    readonly expectedBytes: number
  }
  /** In the order of the run; one where it has none. */
  readonly stages: readonly CalibratedStage[]
}

export interface CalibratedStage {
  readonly steps: number
  /** Where the longest one stands in its data set, from 0. */
  readonly row: number
  readonly promptTokens: number
  /** Rows that are left out because they are too long. */
  readonly tooLong: number
  /** What it took for the one group, not for a step. */
  readonly seconds: {
    readonly loading: number
    readonly generating: number
    readonly scoring: number
    readonly learning: number
  }
  /** For the programs that a process prepares in its first step. */
  readonly warmUpSeconds: number
  readonly secondsPerStep: Estimate
  readonly tokensPerStep: number
  readonly evaluations: number
  readonly secondsPerEvaluation: number
  readonly checkpointBytes: number
  readonly secondsPerCheckpoint: number
  /** What a step adds to log and history. */
  readonly logBytesPerStep: number
  readonly samples: readonly Omit<TrajectorySample, 'arrays' | 'advantage'>[]
}

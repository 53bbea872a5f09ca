/** The job of measuring how rounding changes a model. */
import type { BlockPrecision, PrecisionEffect } from '#shared/precision.ts'
import type { Job } from '#host/processes/job.ts'

export interface PrecisionInput {
  /** Folder of the model. */
  readonly directory: string
  /** One item for each of them. */
  readonly precisions: readonly BlockPrecision[]
  readonly cacheDirectory: string
}

export const precisionJob: Job<'precision check', PrecisionInput, PrecisionEffect> = {
  name: 'precision check',
}

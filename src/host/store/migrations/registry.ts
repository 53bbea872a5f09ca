import { runs } from './0001-runs.ts'
import { metrics } from './0002-metrics.ts'
import { samples } from './0003-samples.ts'
import { library } from './0004-library.ts'
import { diagnosis } from './0005-diagnosis.ts'
import type { Migration } from './types.ts'

/** Every migration, in order. */
export const migrations: readonly Migration[] = [runs, metrics, samples, library, diagnosis]

/** A run's settings for its rollout server. */
import type { RunConfig } from '#shared/runConfig.ts'

export type ServerSettings = NonNullable<RunConfig['rollout']['server']>

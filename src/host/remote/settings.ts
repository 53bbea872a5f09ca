/** A run's settings for its rollout server. */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'

export type ServerSettings = NonNullable<RunConfig['rollout']['server']>

/** The secret itself is never in a config. Errors: AppError 'config/invalid' where the variable is not set. */
export function readApiKey(
  { apiKeyVariable }: ServerSettings,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  if (apiKeyVariable === null) return null
  const key = environment[apiKeyVariable]
  if (key !== undefined && key !== '') return key
  throw new AppError(
    'config/invalid',
    `rollout.server.apiKeyVariable is ${apiKeyVariable}, but there is no such environment variable.`,
    'Set it in the environment in which Turnwise is started, or set apiKeyVariable to null.',
  )
}

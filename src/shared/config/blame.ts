/** Errors as problems of the settings that caused them. */
import { AppError, ConfigError, type Hint, KeysError, type Problem } from '../errors.ts'

/** Attributes errors of `work` to the setting at `path` if they name none. */
export function blaming<T>(path: string, stage: number | null, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'config/invalid') throw error
    const problems = error instanceof ConfigError ? error.problems : [unusable(error, path)]
    throw new ConfigError(
      problems.map((each) => ({ ...each, stage })),
      error instanceof ConfigError ? adviceOf(error) : undefined,
    )
  }
}

const adviceOf = ({ hint: text, command }: AppError): string | Hint | undefined =>
  command === undefined ? text : { ...(text !== undefined && { text }), command }

/** Setting that names the failed thing, by area of the error code. */
const pathsByArea: Readonly<Record<string, string>> = {
  model: 'model',
  tokenizer: 'model',
  adapter: 'adapter.initial',
  data: 'data',
  file: 'data',
  reward: 'rewards',
  sandbox: 'rewards',
  python: 'python',
  environment: 'environment',
  device: 'device',
}

/** Converts any error caused by a config into problems of its settings. */
export const problemsOfError = (error: AppError): readonly Problem[] =>
  error instanceof ConfigError
    ? error.problems
    : [unusable(error, pathsByArea[error.code.slice(0, error.code.indexOf('/'))] ?? '')]

const unusable = (error: AppError, path: string): Problem => ({
  path,
  code: 'unusable',
  message: [error.message, error.hint].filter(Boolean).join(' '),
  stage: null,
  ...(error instanceof KeysError ? { keys: error.keys } : {}),
})

/** Maps problems that the host finds in a config to the controls concerned. */
import { AppError, type Problem } from '#shared/errors.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import { problemsOfError } from '#shared/config/blame.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { stagesOf } from './stages.ts'
import { isOfStudy } from './studyDraft.ts'

export const stepIds = ['model', 'data', 'reward', 'method', 'study', 'check'] as const
export type StepId = (typeof stepIds)[number]

export function stepOf({ path, keys }: Pick<Problem, 'path' | 'keys'>): StepId {
  // No setting needs to change: the check waits for permission.
  if (keys !== undefined) return 'check'
  const [top = ''] = path.split(/[.[]/)
  if (top === 'model' || top === 'data') return top
  if (isOfStudy(path)) return 'study'
  if (path.startsWith('rollout.workflow')) return 'reward'
  return ['rewards', 'environment', 'rewardFailures', 'rewardLimits', 'python'].includes(top)
    ? 'reward'
    : 'method'
}

export const isMissing = ({ code }: Problem): boolean => code === 'missing'

/** Formats a problem for display below the setting's label. */
export const problemWords = ({ message }: Problem): string =>
  message.charAt(0).toUpperCase() + message.slice(1)

/** Returns problems of one setting of the run, or of its contents. */
export const problemsAt = (problems: readonly Problem[], key: string): Problem[] =>
  problems.filter(
    ({ path, stage }) =>
      stage === null && (path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)),
  )

/** Omits problems that an unfinished step already shows. */
export const openProblems = (problems: readonly Problem[], toDo: readonly StepId[]): Problem[] =>
  problems.filter((problem) => !isMissing(problem) || !toDo.includes(stepOf(problem)))

/** Returns the first problem that is more than a missing value, for display below its control. */
export function wrongWords(problems: readonly Problem[]): string | undefined {
  const wrong = problems.find((problem) => !isMissing(problem))
  return wrong && problemWords(wrong)
}

/** Finds what a run's settings have wrong by themselves, without a look at its model and data. */
export function ownProblems(config: JsonObject): readonly Problem[] {
  try {
    parseRunConfig(config)
    return []
  } catch (error) {
    if (error instanceof AppError) return problemsOfError(error)
    throw error
  }
}

/** Returns what was found in an earlier draft and still holds: problems of settings that are as they were. */
export const stillHolding = (
  problems: readonly Problem[],
  judged: JsonObject,
  config: JsonObject,
): readonly Problem[] =>
  problems.filter(({ path, stage }) => {
    const [key = ''] = path.split('[') // an entry of a list is judged with all of it
    return key !== '' && isSameAt(key, judged, config, stage)
  })

/** True where two drafts, or the same stage of both, have one value. */
export function isSameAt(key: string, a: JsonObject, b: JsonObject, stage: number | null = null): boolean {
  const written = (each: JsonObject) =>
    JSON.stringify(valueAt(stage === null ? each : stagesOf(each)[stage], key))
  return written(a) === written(b)
}

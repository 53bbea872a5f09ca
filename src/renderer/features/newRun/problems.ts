/** What the host finds wrong with a config, put beside what it is about. */
import type { Problem } from '#shared/errors.ts'
import { isOfStudy } from './studyDraft.ts'

export const stepIds = ['model', 'data', 'reward', 'method', 'study', 'check'] as const
export type StepId = (typeof stepIds)[number]

/** Where the setting is chosen. */
export function stepOf({ path, keys }: Pick<Problem, 'path' | 'keys'>): StepId {
  // Nothing is to be chosen otherwise: the check waits for a yes.
  if (keys !== undefined) return 'check'
  const [top = ''] = path.split(/[.[]/)
  if (top === 'model' || top === 'data') return top
  if (isOfStudy(path)) return 'study'
  if (path.startsWith('rollout.workflow')) return 'reward'
  return ['rewards', 'environment', 'rewardFailures', 'rewardLimits', 'python'].includes(top)
    ? 'reward'
    : 'method'
}

/** Nothing is wrong with it: it was not given yet. */
export const isMissing = ({ code }: Problem): boolean => code === 'missing'

/** As it stands under the setting’s label. */
export const problemWords = ({ message }: Problem): string =>
  message.charAt(0).toUpperCase() + message.slice(1)

/** Those of one setting of the run, or of what is in it. */
export const problemsAt = (problems: readonly Problem[], key: string): Problem[] =>
  problems.filter(
    ({ path, stage }) =>
      stage === null && (path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)),
  )

/** All but what a step that is still to be done says by itself. */
export const openProblems = (problems: readonly Problem[], toDo: readonly StepId[]): Problem[] =>
  problems.filter((problem) => !isMissing(problem) || !toDo.includes(stepOf(problem)))

/** The first that is more than something missing, as it stands under its control. */
export function wrongWords(problems: readonly Problem[]): string | undefined {
  const wrong = problems.find((problem) => !isMissing(problem))
  return wrong && problemWords(wrong)
}

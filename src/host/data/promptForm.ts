import { AppError } from '#shared/errors.ts'
import { describeIssue } from '#shared/configProblems.ts'
import { runConfigSchema } from '#shared/runConfig.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'

/** `data.prompt` of a run config, checked as a config is. Errors: AppError 'config/invalid'. */
export function parsePromptForm(given: unknown): PromptForm {
  const result = runConfigSchema.shape.data.shape.prompt.safeParse(given, { reportInput: true })
  if (result.success) return result.data
  const problems = result.error.issues.flatMap(describeIssue)
  throw new AppError('config/invalid', `The prompt cannot be read: ${problems.join(' ')}`)
}

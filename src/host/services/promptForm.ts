import { AppError } from '#shared/errors.ts'
import { describeIssue } from '#shared/configProblems.ts'
import { runConfigSchema, type RunConfig } from '#shared/runConfig.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'
import { withSwitches } from '#rl/rollout/templateSwitches.ts'
import type { PreviewModel } from '../artifacts/data/preview.ts'

/** `data.prompt` of a run config, checked as a config is. Errors: AppError 'config/invalid'. */
export function parsePromptForm(given: unknown): PromptForm {
  const result = runConfigSchema.shape.data.shape.prompt.safeParse(given, { reportInput: true })
  if (result.success) return result.data
  const problems = result.error.issues.flatMap(describeIssue)
  throw new AppError('config/invalid', `The prompt cannot be read: ${problems.join(' ')}`)
}

/** What the chat template is given beside the messages, as `data` of a run config has it. */
export interface TemplateInput {
  readonly tools?: string | undefined
  readonly templateVariables?: RunConfig['data']['templateVariables'] | undefined
}

/** A model's text side that renders prompts as a run with these settings does. */
export const withTemplate = (
  { tokenizer, chatTemplate }: PreviewModel,
  { tools, templateVariables = {} }: TemplateInput,
): PreviewModel => ({
  tokenizer,
  chatTemplate: withSwitches(chatTemplate, templateVariables),
  tools: tools ?? null,
})

/** Defines the job of playing one episode of a workflow, reported as it happens. */
import type { TrialNews } from '#shared/api/workflows.ts'
import type { PromptRow } from '#rl/rollout/prompts.ts'
import type { Job } from '#host/processes/job.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'
import type { EvaluationInput } from './evaluationJob.ts'

/** Input of a trial. The folder is for copies of code, as the folder of a run has them; the asker removes it. Paths in `config` are absolute. */
export interface WorkflowTrialInput extends Pick<
  EvaluationInput,
  'candidate' | 'config' | 'directory' | 'cacheDirectory' | 'consents'
> {
  readonly code: CodeSource
  readonly settings: Readonly<Record<string, string | number | boolean>>
  /** Row of the prompt; random numbers depend on its number, as those of a run do. */
  readonly row: PromptRow
  readonly isEvaluation: boolean
}

export const workflowTrialJob: Job<'workflow trial', WorkflowTrialInput, TrialNews> = {
  name: 'workflow trial',
}

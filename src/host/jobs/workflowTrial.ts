/** Defines the job of playing one episode of a workflow, reported as it happens. */
import type { TrialNews } from '#shared/api/workflows.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { PromptRow } from '#rl/rollout/prompts.ts'
import type { Candidate } from '#host/models/completionJobs.ts'
import type { Job } from '#host/processes/job.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'

export interface WorkflowTrialInput {
  readonly candidate: Candidate
  /** Settings that only training reads are ignored; paths are absolute. */
  readonly config: RunConfig
  readonly code: CodeSource
  readonly settings: Readonly<Record<string, string | number | boolean>>
  /** Row of the prompt; random numbers depend on its number, as those of a run do. */
  readonly row: PromptRow
  readonly isEvaluation: boolean
  /** Folder for copies of code, as the folder of a run has them; the asker removes it. */
  readonly directory: string
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

export const workflowTrialJob: Job<'workflow trial', WorkflowTrialInput, TrialNews> = {
  name: 'workflow trial',
}

/** The job of answering or playing rows and judging the answers, for evaluations and for the difficulty of a data set. */
import type { EvaluatedPrompt } from '#shared/api/evaluations.ts'
import type { PhaseProgress } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { PromptRow } from '#rl/rollout/prompts.ts'
import type { Candidate } from '#host/models/completionJobs.ts'
import type { Job } from '#host/processes/job.ts'

export interface EvaluationInput {
  readonly candidate: Candidate
  /** Settings that only training reads are ignored. */
  readonly config: RunConfig
  /** Holds the code of rewards and environment, as the folder of a run does. */
  readonly directory: string
  readonly rows: readonly PromptRow[]
  /** Number of each row in answers and problems. */
  readonly places: readonly number[]
  /** Number of samples of each row. */
  readonly samples: number
  readonly greedy: boolean
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

export type AnsweredRow = Omit<EvaluatedPrompt, 'columns'>

/** A row with its samples as the last of them is done, why it makes no prompt, or how many samples are done. */
export type EvaluationNews =
  AnsweredRow | { readonly row: number; readonly problem: string } | { readonly progress: PhaseProgress }

export const evaluationJob: Job<'evaluation', EvaluationInput, EvaluationNews> = { name: 'evaluation' }

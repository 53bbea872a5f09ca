/** Jobs of completing prompts with models as they are. */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import type { Device } from '#shared/device.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import type { GeneratedToken } from '#rl/rewards.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import type { Job } from '#host/processes/job.ts'

/** Folder of a model, and of an adapter or a checkpoint on top; null = the base alone. */
export interface Candidate {
  readonly directory: string
  readonly adapter: string | null
  /** Longest prompt plus completion; null or absent: as far as the model's own positions reach. */
  readonly contextLength?: number | null
}

type Sampling = Omit<SamplingOptions, 'stopIds'>

export interface CompletionInput {
  /** Candidates, completed one after the other; those of one base share it. */
  readonly candidates: readonly Candidate[]
  readonly prompt: { readonly text: string } | { readonly messages: readonly ChatMessage[] }
  readonly samples: number
  readonly seed: number
  readonly sampling: Sampling
  /** Device; null: the default one. */
  readonly device: Device | null
  readonly cacheDirectory: string
}

/** A piece of a completion as it is generated; the last one says why it ended. */
export type CompletionPiece = OutputOf<Api, 'models.generate'>

export const completionJob: Job<'completion', CompletionInput, CompletionPiece> = { name: 'completion' }

export interface RowCompletionInput {
  readonly candidate: Candidate
  readonly rows: readonly DataRow[]
  readonly form: PromptForm
  /** Adds the tokens of each completion. */
  readonly withTokens?: boolean
  readonly seed: number
  readonly sampling: Sampling
  readonly cacheDirectory: string
}

/** A row that makes no prompt has a problem instead. */
export type RowCompletion =
  | {
      readonly row: number
      readonly prompt: string
      readonly completion: string
      /** Tokens; null where they were not requested. */
      readonly tokens: readonly GeneratedToken[] | null
    }
  | { readonly row: number; readonly problem: string }

export const rowCompletionJob: Job<'row completion', RowCompletionInput, RowCompletion> = {
  name: 'row completion',
}

/**
 * Workflows: how an episode goes, written by a person. An episode is a pure function of its row, its seed and the answers to
 * its requests so far: it is run from its beginning with the answers there are, and either ends or asks for more. So no run of
 * it has to be kept, hundreds are open at a time, a crash loses none, and a resumed training plays the same ones again.
 */
import type { ChatMessage } from '#engine/text/chatTemplate.ts'
import type { Observation } from './environment.ts'
import type { RewardFault } from './rewards.ts'
import type { DataRow } from './rollout/prompts.ts'

/** Bounds of one episode; what goes beyond ends it with a sentence. */
export const episodeLimits = {
  /** How often it is answered; all requests that are open at a time are answered together. */
  rounds: 256,
  /** Completions of one request. */
  samples: 256,
  /** Tokens generated for it. */
  tokens: 1 << 18,
  trajectories: 256,
} as const

/** Completions of a prompt that is given as ids or as messages; what is not said is as the run's settings say. */
export interface GenerateAsk {
  readonly kind: 'generate'
  readonly ids?: readonly number[] | undefined
  readonly messages?: readonly ChatMessage[] | undefined
  /** Absent: one. */
  readonly samples?: number | undefined
  readonly greedy?: boolean | undefined
  readonly temperature?: number | undefined
  readonly topK?: number | undefined
  readonly topP?: number | undefined
  readonly minP?: number | undefined
  readonly repetitionPenalty?: number | undefined
  readonly minNewTokens?: number | undefined
  readonly maxNewTokens?: number | undefined
  readonly stop?: readonly string[] | undefined
  readonly stopIds?: readonly number[] | undefined
}

/** What is answered at once. */
export type ToolAsk =
  /** What the run's reward functions say of completions; prompt and row are the episode's where they are not given. */
  | { readonly kind: 'rewards'; readonly of: readonly JudgedCompletion[] }
  /** The run's environment. `ids`: the transcript up to the end of the policy's turn. */
  | { readonly kind: 'reset' }
  | {
      readonly kind: 'step'
      readonly state?: unknown
      readonly action: string
      readonly ids: readonly number[]
    }
  /** Messages as what the policy reads, and what follows a turn of the policy. */
  | { readonly kind: 'prompt'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'reply'; readonly ids: readonly number[]; readonly message: Observation }
  | { readonly kind: 'encode'; readonly text: string }
  | { readonly kind: 'decode'; readonly ids: readonly number[] }

export interface JudgedCompletion {
  readonly completion: string
  readonly prompt?: string | undefined
  readonly row?: DataRow | undefined
}

export interface AskedRequest {
  /** As the episode wrote it: what it must ask again in every later run. */
  readonly text: string
  readonly request: GenerateAsk | ToolAsk
}

/** A run of an episode from its beginning. */
export interface EpisodeRun {
  readonly row: DataRow
  /** The row's prompt as the run's data settings make it; null where an environment writes it. */
  readonly prompt: { readonly text: string; readonly ids: readonly number[] } | null
  /** The run's environment, with the turns that an episode of the row may have; null where there is none. */
  readonly environment: { readonly maxTurns: number } | null
  readonly isEvaluation: boolean
  readonly seed: number
  /** Texts of the requests that were made before, and their answers. */
  readonly asked: readonly string[]
  readonly answers: readonly unknown[]
}

interface Printed {
  /** By its code, from the beginning of the episode on. */
  readonly lines?: readonly string[]
}

interface Logged {
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** A trajectory as a workflow returns it. Indices are those of `ids`. */
export interface ReturnedTrajectory {
  readonly ids: readonly number[]
  /** 1 for each token that the policy chose; or where runs of them begin and end. */
  readonly actions: readonly (number | boolean)[] | readonly (readonly [start: number, end: number])[]
  /** A number or an answer of the reward functions; null: it takes no part; absent: the reward functions are asked. */
  readonly reward?: number | null | ReturnedReward | undefined
  /** Of each turn, which is a run of actions. */
  readonly turnRewards?: readonly (number | null)[] | undefined
  /** Of each id; those of ids that are no actions count for nothing. */
  readonly tokenRewards?: readonly (number | null)[] | undefined
  /** Reward of the answer it is compared with. */
  readonly baseline?: number | null | undefined
  /** Trajectories of a row are compared with those of the same name; absent: with all that have none. */
  readonly group?: string | number | undefined
  /** Absent: whether its last turn was cut off by a limit. */
  readonly truncated?: boolean | undefined
  readonly columns?: Readonly<Record<string, unknown>> | undefined
  readonly metrics?: Readonly<Record<string, number>> | undefined
}

export interface ReturnedReward {
  readonly total: number | null
  readonly parts?: Readonly<Record<string, number | null>> | undefined
  readonly failures?: readonly string[] | undefined
}

/** How far a run of an episode came. */
export type EpisodeStep = Printed &
  (
    | { readonly requests: readonly AskedRequest[] }
    /** null: the episode is rejected. */
    | ({ readonly trajectories: readonly ReturnedTrajectory[] | null } & Logged)
    | RewardFault
  )

/** Runs many episodes together, in order. What goes wrong with one of them is its answer. */
export interface Workflow {
  readonly id: string
  run(episodes: readonly EpisodeRun[]): Promise<readonly EpisodeStep[]>
}

/**
 * Workflows: user code that runs an episode. An episode is a pure function of its row, its seed and the answers to its
 * requests so far: it is run from its beginning with these answers, and either ends or makes more requests. No state of
 * a run has to be kept, so hundreds can be open at a time, a crash loses none, and resumed training repeats the same
 * episodes.
 */
import type { ChatMessage } from '#shared/messages.ts'
import type { Observation } from './environment.ts'
import type { RewardFault } from '../rewards.ts'
import type { DataRow } from './prompts.ts'

/** Limits of one episode; exceeding one ends it with an error. */
export const episodeLimits = {
  /** Rounds of answers; all requests that are open at a time are answered together. */
  rounds: 256,
  /** Completions of one request. */
  samples: 256,
  /** Tokens generated for an episode. */
  tokens: 1 << 18,
  trajectories: 256,
  /** Different questions for the tokenizer. */
  texts: 512,
} as const

/** Completions of a prompt given as ids or as messages; sampling settings that are absent are the run's. */
export interface GenerateAsk {
  readonly kind: 'generate'
  readonly ids?: readonly number[] | undefined
  readonly messages?: readonly ChatMessage[] | undefined
  /** Descriptions of functions that the policy may call; of ids, those that they offer. */
  readonly tools?: readonly unknown[] | undefined
  /** Number of completions; 1 if absent. */
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

/** Requests that are answered at once. */
export type ToolAsk =
  /** Scores of the run's reward functions; prompt and row are the episode's if absent. */
  | { readonly kind: 'rewards'; readonly of: readonly JudgedCompletion[] }
  /** The run's environment. `ids`: the transcript up to the end of the policy's turn. */
  | { readonly kind: 'reset' }
  | {
      readonly kind: 'step'
      readonly state?: unknown
      readonly action: string
      readonly ids: readonly number[]
    }
  /** Questions for messages as the policy reads them, and for the ids that follow a turn of the policy. */
  | { readonly kind: 'prompt'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'reply'; readonly ids: readonly number[]; readonly message: Observation }

/** Questions for the tokenizer, whose answers depend on nothing else. The code that asks gets them without waiting. */
export type TextAsk =
  | { readonly kind: 'encode'; readonly text: string }
  | { readonly kind: 'decode'; readonly ids: readonly number[] }

export interface AskedText {
  /** Question as the episode wrote it. */
  readonly text: string
  readonly ask: TextAsk
}

export interface JudgedCompletion {
  readonly completion: string
  readonly prompt?: string | undefined
  readonly row?: DataRow | undefined
}

export interface AskedRequest {
  /** Request as the episode wrote it; every later run must make the same one. */
  readonly text: string
  readonly request: GenerateAsk | ToolAsk
}

/** One run of an episode, from its beginning. */
export interface EpisodeRun {
  readonly row: DataRow
  /** The row's prompt, made as the run's data settings say; null if an environment writes it. */
  readonly prompt: { readonly text: string; readonly ids: readonly number[] } | null
  /** Turns that an episode of the row may have in the run's environment; null where the run has none. */
  readonly environment: { readonly maxTurns: number } | null
  readonly isEvaluation: boolean
  readonly seed: number
  /** Texts of the earlier requests, with their answers. */
  readonly asked: readonly string[]
  readonly answers: readonly unknown[]
  /** Answers of the tokenizer, by question; absent: there are none. */
  readonly textAnswers?: Readonly<Record<string, unknown>>
}

interface Printed {
  /** Lines printed by its code, from the beginning of the episode on. */
  readonly lines?: readonly string[]
}

interface Logged {
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** A trajectory as a workflow returns it. Indices are those of `ids`. */
export interface ReturnedTrajectory {
  readonly ids: readonly number[]
  /** 1 for each token that the policy chose; or a list of spans [start, end). */
  readonly actions: readonly (number | boolean)[] | readonly (readonly [start: number, end: number])[]
  /** A number or a result of the reward functions; null: no reward; absent: the reward functions score it. */
  readonly reward?: number | null | ReturnedReward | undefined
  /** One per turn, that is, per contiguous run of actions. */
  readonly turnRewards?: readonly (number | null)[] | undefined
  /** Rewards, one per id; those of ids that are not actions are ignored. */
  readonly tokenRewards?: readonly (number | null)[] | undefined
  /** Reward of the answer that it is compared with. */
  readonly baseline?: number | null | undefined
  /**
   * Group of the trajectory: those of a row with the same name are compared; absent: with all others that have no name.
   */
  readonly group?: string | number | undefined
  /** True if it was cut off; if absent, true if its last turn was truncated. */
  readonly truncated?: boolean | undefined
  readonly columns?: Readonly<Record<string, unknown>> | undefined
  readonly metrics?: Readonly<Record<string, number>> | undefined
}

export interface ReturnedReward {
  readonly total: number | null
  readonly parts?: Readonly<Record<string, number | null>> | undefined
  readonly failures?: readonly string[] | undefined
}

/** Progress of one run of an episode. */
export type EpisodeStep = Printed &
  (
    | { readonly requests: readonly AskedRequest[] }
    /**
     * The episode cannot go on without the tokenizer's answer. What it did besides counts for nothing: it is run again.
     */
    | { readonly asksText: AskedText }
    /** null: the episode is rejected. */
    | ({ readonly trajectories: readonly ReturnedTrajectory[] | null } & Logged)
    | RewardFault
  )

/** Runs many episodes together, in order. An error of one of them is its answer. */
export interface Workflow {
  readonly id: string
  run(episodes: readonly EpisodeRun[]): Promise<readonly EpisodeStep[]>
}

/** Step, row and sample of an episode: the same episode, however often a run is resumed. */
export interface EpisodePlace {
  readonly source: 'training' | 'evaluation'
  /** Number of the step in training, from 1; of an evaluation: steps completed. */
  readonly step: number
  /** Row of the data set. */
  readonly row: number
  readonly sample: number
}

/**
 * Workflow whose episodes are acted out by somebody who takes as long as they like. Each is run alone, its requests join the
 * batch whenever they come, and a request that cannot be met is answered with `{ fault }` instead of ending the episode.
 */
export interface LiveWorkflow {
  readonly id: string
  act(episode: EpisodeRun, place: EpisodePlace): Promise<EpisodeStep>
  /** Called when an episode exceeded a limit and ended without a step of its own. */
  ended(place: EpisodePlace, failure: string): void
}

/**
 * A trajectory: everything one prompt led to. Created once, never edited.
 *
 * Masks come from lengths, never from ids: prompt tokens are not actions, every generated token is one, the end-of-text
 * token included (or stopping would never be learned), also where a model pads with that same id.
 */
import type { Completion, StopReason } from '#engine/policy.ts'
import type { EpisodeCut } from '#shared/events.ts'
import type { Experience } from '../algorithms/types.ts'
import type { Prompt } from './prompts.ts'

/** A completion or an episode with its reward. Immutable: `withReward` returns a changed copy. */
export interface Trajectory extends Experience {
  readonly prompt: Prompt
  /** [L] prompt and completion tokens; arrays of the experience are [L−1]. */
  readonly ids: Int32Array
  /** Log-probabilities the sampler recorded, one per action token in order; null when it recorded none. */
  readonly samplerLogprobs: Float64Array | null
  /** The generated text, without special tokens. */
  readonly completion: string
  /** Number of generated tokens in all turns. */
  readonly completionTokens: number
  readonly stopReason: StopReason
  /** What an environment made of it; null where there was none. */
  readonly episode: EpisodeOutcome | null
  /**
   * [S] everything up to where a truncated episode would have gone on, the environment's last words included, for a critic
   * to value. null where it terminated or failed, for single completions, and without a critic. Of a workflow's trajectory:
   * where the workflow says that it is truncated.
   */
  readonly lastState: Int32Array | null
  /** What a workflow made of it; absent where there was none. */
  readonly workflow?: WorkflowOutcome
  /** Tells trajectories of one group apart that are compared among themselves; absent: 0. */
  readonly subgroup?: number
  readonly reward: Reward
}

export interface RewardFailure {
  /** Name of the part. */
  readonly name: string
  readonly message: string
}

/** Weighted sums of what reward functions say of single tokens and turns. */
export interface PlacedReward {
  /** What the functions with one number for all earned, which counts for the last turn; null where there is none. */
  readonly last: number | null
  /** One per turn of the policy. */
  readonly perTurn: readonly number[] | null
  /** One per generated token. */
  readonly perToken: readonly number[] | null
}

/** The reward of a trajectory, with the result of each reward function. */
export interface Reward {
  /** Unweighted answer of each function, by name. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Weighted sum over the parts that apply; `null` when none does. */
  readonly total: number | null
  readonly failures: readonly RewardFailure[]
  /** Columns the functions logged; absent where none did. */
  readonly logged?: Readonly<Record<string, unknown>>
  /** Numbers the functions logged; absent where none did. */
  readonly metrics?: Readonly<Record<string, number>>
  /** Absent where all of it counts for the last turn. */
  readonly placed?: PlacedReward
}

export type EpisodeEnd = 'terminated' | EpisodeCut

/** The transcript had grown too long to go on. */
export interface ContextOverflow {
  /** Tokens the next prompt would have had. */
  readonly fullPromptLength: number
  readonly maxPromptTokens: number
  readonly contextLength: number
  readonly maxNewTokens: number | null
}

/** How an episode in an environment went. */
export interface EpisodeOutcome {
  readonly end: EpisodeEnd
  /** Turns the policy had. */
  readonly turns: number
  /** Reward of each turn, 0 up to the most turns an episode may have. */
  readonly turnRewards: readonly number[]
  /** Their sum; null where the environment gave no reward at all. */
  readonly total: number | null
  /** The policy's last turn; this is what reward functions judge. */
  readonly lastAction: string
  readonly overflow: ContextOverflow | null
  /** What went wrong in the environment. */
  readonly failure: string | null
  /** What the environment logged to look at, and to chart. */
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** How an episode of a workflow went. */
export interface WorkflowOutcome {
  /** `rejected`: the workflow returned nothing; `failed`: it could not go on. */
  readonly end: 'returned' | 'rejected' | 'failed'
  readonly failure: string | null
  /** What the workflow says it is worth; null: the reward functions say it. */
  readonly reward: Reward | null
  /** Turns of the policy. */
  readonly turns: number
  /** Requests of the episode, and how often they were answered. */
  readonly requests: number
  readonly rounds: number
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** What is known of a trajectory before it is scored. */
export type UnscoredTrajectory = Omit<Trajectory, 'reward' | 'turnRewards' | 'tokenRewards'>

/** As every trajectory begins: nothing was computed of it, nothing compared with it. */
export const unscored = {
  behaviorLogprobs: null,
  behaviorEntropies: null,
  referenceLogprobs: null,
  behaviorValues: null,
  lastStateValue: null,
  tokenLimit: null,
  baselineReward: null,
} as const satisfies Partial<Experience>

/** Prompt and completion of a single-turn rollout. */
export function singleTurnTrajectory(
  prompt: Prompt,
  group: number,
  generated: Pick<Completion, 'ids' | 'logprobs' | 'stopReason'>,
  completion: string,
): UnscoredTrajectory {
  const ids = new Int32Array(prompt.ids.length + generated.ids.length)
  ids.set(prompt.ids)
  ids.set(generated.ids, prompt.ids.length)
  return {
    ...unscored,
    prompt,
    group,
    ids,
    actionMask: completionMask(prompt.ids.length, ids.length),
    turnIds: null,
    samplerLogprobs: generated.logprobs,
    completion,
    completionTokens: generated.ids.length,
    stopReason: generated.stopReason,
    truncated: generated.stopReason === 'length',
    episode: null,
    lastState: null,
  }
}

/** [length−1]: 1 from the first generated token on. */
export function completionMask(promptLength: number, length: number): Uint8Array {
  return new Uint8Array(length - 1).fill(1, promptLength - 1)
}

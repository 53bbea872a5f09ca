/**
 * A trajectory: everything one prompt led to. Created once, never edited.
 *
 * Masks come from lengths, never from ids: prompt tokens are not actions, every generated token is one, the end-of-text
 * token included (or stopping would never be learned), also where a model pads with that same id.
 */
import type { Completion, Routes, StopReason } from '#engine/policy.ts'
import type { EpisodeCut } from '#shared/events.ts'
import type { Experience } from '../algorithms/types.ts'
import type { Prompt } from './prompts.ts'

/** A completion or an episode with its reward. Immutable: `withReward` returns a changed copy. */
export interface Trajectory extends Experience {
  readonly prompt: Prompt
  /** [L] prompt and completion tokens; arrays of the experience are [L−1]. */
  readonly ids: Int32Array
  /** Log-probabilities recorded by the sampler, one per action token in order; null if it recorded none. */
  readonly samplerLogprobs: Float64Array | null
  /** Experts that its tokens went through when they were sampled; absent where none were recorded. */
  readonly routes?: Routes
  /** Steps that the policy had learned from when it chose the tokens; absent: all before the trajectory's own. */
  readonly version?: number
  /** The generated text, without special tokens. */
  readonly completion: string
  /** Number of generated tokens in all turns. */
  readonly completionTokens: number
  readonly stopReason: StopReason
  /** The environment's record; null without an environment. */
  readonly episode: EpisodeOutcome | null
  /**
   * [S] everything up to where a truncated episode would have gone on, the environment's last words included, for a critic
   * to value. null where it terminated or failed, for single completions, and without a critic. Of a workflow's trajectory:
   * where the workflow says that it is truncated.
   */
  readonly lastState: Int32Array | null
  /** The workflow's record; absent without a workflow. */
  readonly workflow?: WorkflowOutcome
  /** Distinguishes sets of trajectories within a group that are compared among themselves; absent: 0. */
  readonly subgroup?: number
  readonly reward: Reward
}

export interface RewardFailure {
  /** Name of the component. */
  readonly name: string
  readonly message: string
}

/** Weighted sums of the rewards that functions give to single tokens and turns. */
export interface PlacedReward {
  /** The sum of the functions that return one number, which counts for the last turn; null if there is none. */
  readonly last: number | null
  /** Rewards, one per turn of the policy. */
  readonly perTurn: readonly number[] | null
  /** Rewards, one per generated token. */
  readonly perToken: readonly number[] | null
}

/** The reward of a trajectory, with the result of each reward function. */
export interface Reward {
  /** Unweighted value of each function, by name. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Weighted sum over the components that apply; `null` if none does. */
  readonly total: number | null
  readonly failures: readonly RewardFailure[]
  /** Columns logged by the functions; absent if there are none. */
  readonly logged?: Readonly<Record<string, unknown>>
  /** Numbers logged by the functions; absent if there are none. */
  readonly metrics?: Readonly<Record<string, number>>
  /** Rewards of single tokens and turns; absent if the whole reward counts for the last turn. */
  readonly placed?: PlacedReward
}

export type EpisodeEnd = 'terminated' | EpisodeCut

/** The transcript was too long to continue. */
export interface ContextOverflow {
  /** Length that the next prompt would have had, in tokens. */
  readonly fullPromptLength: number
  readonly maxPromptTokens: number
  readonly contextLength: number
  /** Name of the teacher whose context it is. */
  readonly teacher?: string | undefined
  readonly maxNewTokens: number | null
}

/** The record of an episode in an environment. */
export interface EpisodeOutcome {
  readonly end: EpisodeEnd
  /** Turns that the policy took. */
  readonly turns: number
  /** [turns] reward of each turn, padded with 0 up to the maximum number of turns. */
  readonly turnRewards: readonly number[]
  /** Sum of the rewards; null if the environment gave no reward at all. */
  readonly total: number | null
  /** The policy's last turn, which reward functions score. */
  readonly lastAction: string
  readonly overflow: ContextOverflow | null
  /** The environment's error. */
  readonly failure: string | null
  /** Values that the environment logged, to show and to chart. */
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** The record of an episode of a workflow. */
export interface WorkflowOutcome {
  /** `rejected`: the workflow returned null; `failed`: it could not continue. */
  readonly end: 'returned' | 'rejected' | 'failed'
  readonly failure: string | null
  /** The reward that the workflow returned; null: the reward functions are used. */
  readonly reward: Reward | null
  /** Number of turns of the policy. */
  readonly turns: number
  /** Number of requests of the episode, and of rounds of answers. */
  readonly requests: number
  readonly rounds: number
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

export type UnscoredTrajectory = Omit<Trajectory, 'reward' | 'turnRewards' | 'tokenRewards'>

/** The initial values: nothing has been computed or compared yet. */
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
  generated: Pick<Completion, 'ids' | 'logprobs' | 'stopReason' | 'routes'>,
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
    ...(generated.routes && { routes: generated.routes }),
    completion,
    completionTokens: generated.ids.length,
    stopReason: generated.stopReason,
    truncated: generated.stopReason === 'length',
    episode: null,
    lastState: null,
  }
}

/** Routes of the turns so far, and of the tokens that a later turn, whose prompt they are, adds to them. */
export function withLaterRoutes(earlier: Routes | undefined, later: Routes | undefined): Routes | undefined {
  if (!earlier || !later) return earlier ?? later
  const longer = later.experts.length > earlier.experts.length ? later : earlier
  const experts = longer.experts.slice()
  experts.set(earlier.experts)
  return { width: later.width, experts }
}

/** The routes of the first `tokens`. */
export const firstRoutes = ({ width, experts }: Routes, tokens: number): Routes => ({
  width,
  experts: experts.slice(0, tokens * width),
})

/** [length−1]: 1 from the first generated token on. */
export function completionMask(promptLength: number, length: number): Uint8Array {
  return new Uint8Array(length - 1).fill(1, promptLength - 1)
}

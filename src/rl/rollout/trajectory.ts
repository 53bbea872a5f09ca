/**
 * A trajectory: everything one prompt led to. Created once, never edited.
 *
 * Masks come from lengths, never from ids: prompt tokens are not actions, every generated token is one, the end-of-text
 * token included (or stopping would never be learned), also where a model pads with that same id.
 */
import type { Completion, StopReason } from '#engine/policy.ts'
import type { Reward } from '../rewards.ts'
import type { Prompt } from './prompts.ts'

export interface Trajectory {
  readonly prompt: Prompt
  /** Trajectories with the same number answer the same prompt. */
  readonly group: number
  /** [L] prompt and completion tokens. */
  readonly ids: Int32Array
  /** [L−1] 1 where ids[t+1] was chosen by the policy. */
  readonly actionMask: Uint8Array
  /** [L−1] turn of each action token, −1 elsewhere; null = all in turn 0. */
  readonly turnIds: Int32Array | null
  /** Log-probabilities the sampler recorded, one per action token in order; null when it recorded none. */
  readonly samplerLogprobs: Float64Array | null
  readonly completion: string
  readonly completionTokens: number
  readonly stopReason: StopReason
  readonly reward: Reward
  /** One per turn; empty without a reward. */
  readonly turnRewards: readonly number[]
}

/** What is known of a trajectory before it is scored. */
export type UnscoredTrajectory = Omit<Trajectory, 'reward' | 'turnRewards'>

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
    prompt,
    group,
    ids,
    actionMask: completionMask(prompt.ids.length, ids.length),
    turnIds: null,
    samplerLogprobs: generated.logprobs,
    completion,
    completionTokens: generated.ids.length,
    stopReason: generated.stopReason,
  }
}

/** [length−1]: 1 from the first generated token on. */
export function completionMask(promptLength: number, length: number): Uint8Array {
  return new Uint8Array(length - 1).fill(1, promptLength - 1)
}

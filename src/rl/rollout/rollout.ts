/**
 * Rollout: the act of producing trajectories. Reading guide: `prompts.ts` makes prompts of rows, `order.ts` says which
 * come next, `rollout.ts` (here) lets the policy answer and the reward functions judge, `trajectory.ts` is the result.
 */
import type { Completion, GenerateOptions, Policy } from '#engine/policy.ts'
import { randomStream } from '#shared/random.ts'
import { type RewardFailurePolicy, type RewardSpec, scoreRewards } from '../rewards.ts'
import type { Prompt } from './prompts.ts'
import { singleTurnTrajectory, type Trajectory, type UnscoredTrajectory } from './trajectory.ts'

export interface RolloutRequest {
  readonly prompts: readonly Prompt[]
  /** Completions per prompt. */
  readonly groupSize: number
  readonly seed: number
  readonly step: number
}

export interface RolloutOptions {
  readonly policy: Pick<Policy, 'generate'>
  readonly generate: GenerateOptions
  /** Text of generated ids, special tokens left out. */
  readonly decode: (ids: Iterable<number>) => string
}

export interface RewardOptions {
  readonly rewards: readonly RewardSpec[]
  readonly onFailure: RewardFailurePolicy
}

/** Lets the policy answer every prompt `groupSize` times; returns group after group, samples in order. */
export async function generateTrajectories(
  request: RolloutRequest,
  { policy, generate, decode }: RolloutOptions,
): Promise<UnscoredTrajectory[]> {
  const { prompts, groupSize } = request
  const trajectories = new Array<UnscoredTrajectory | undefined>(prompts.length * groupSize)
  for await (const completion of policy.generate(generationRequests(request), generate)) {
    const prompt = prompts[completion.request]
    if (!prompt) throw new Error(`Expected a request below ${prompts.length}, got ${completion.request}.`)
    const text = completionText(completion, generate, decode)
    const place = completion.request * groupSize + completion.sample
    trajectories[place] = singleTurnTrajectory(prompt, completion.request, completion, text)
  }
  return Array.from(trajectories, (trajectory, place) => {
    if (!trajectory)
      throw new Error(`Expected ${trajectories.length} completions, number ${place} never came.`)
    return trajectory
  })
}

/**
 * A trajectory's random numbers depend on (seed, step, row, sample) alone, not on what else is in the batch. A row that
 * comes twice in a step counts its samples on.
 */
function generationRequests({ prompts, groupSize, seed, step }: RolloutRequest) {
  const seen = new Map<number, number>()
  return prompts.map(({ row, ids }) => {
    const first = (seen.get(row) ?? 0) * groupSize
    seen.set(row, (seen.get(row) ?? 0) + 1)
    return {
      promptIds: ids,
      streams: Array.from({ length: groupSize }, (_, sample) =>
        randomStream(seed, step, row, first + sample),
      ),
    }
  })
}

/** A stop string ends the completion and is not part of what is judged. */
function completionText(
  { ids, stopReason }: Completion,
  { sampling }: GenerateOptions,
  decode: (ids: Iterable<number>) => string,
): string {
  const text = decode(ids)
  if (stopReason !== 'stop-string') return text
  const ends = sampling.stopStrings.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}

/** Adds the rewards. A trajectory to which no reward function applies has none and teaches nothing. */
export async function rewardTrajectories(
  trajectories: readonly UnscoredTrajectory[],
  { rewards, onFailure }: RewardOptions,
): Promise<Trajectory[]> {
  const inputs = trajectories.map(({ prompt, completion }) => ({
    prompt: prompt.text,
    completion,
    row: prompt.columns,
  }))
  const scored = await scoreRewards(rewards, inputs, onFailure)
  return trajectories.map((trajectory, i) => {
    const reward = scored[i]!
    return { ...trajectory, reward, turnRewards: reward.total === null ? [] : [reward.total] }
  })
}

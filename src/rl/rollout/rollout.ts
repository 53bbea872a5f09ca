/**
 * Rollout: produces trajectories. Reading guide:
 *
 *   prompts.ts     prompts out of the rows of a data set, and which of them come next
 *   rollout.ts     (here) one turn: the policy answers every prompt
 *   episodes.ts    many turns: policy and environment answer each other until the episode is over
 *   turnText.ts    observations as tokens; transcript.ts keeps the tokens of an episode
 *   trajectory.ts  the result
 */
import type { Completion, GenerateOptions, Policy } from '#engine/policy.ts'
import { type CalledAnswer, type OfferedTools, readCalls } from '#engine/text/toolCalls.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import type { PhaseProgress } from '#shared/events.ts'
import { randomStream } from '#shared/random.ts'
import type { Prompt } from './prompts.ts'
import { singleTurnTrajectory, type UnscoredTrajectory } from './trajectory.ts'

export interface RolloutRequest {
  readonly prompts: readonly Prompt[]
  /** Completions per prompt. */
  readonly groupSize: number
  readonly seed: number
  readonly step: number
  /** Row → how often it was already rolled out in this step. */
  readonly earlier?: ReadonlyMap<number, number>
  readonly onProgress?: (done: PhaseProgress) => void
  /** Called with each group when its last trajectory is over. */
  readonly onGroup?: (group: readonly UnscoredTrajectory[]) => void
}

export interface RolloutOptions {
  readonly policy: Pick<Policy, 'generate'>
  readonly generate: GenerateOptions
  /** Text of generated ids, without special tokens. */
  readonly decode: (ids: Iterable<number>) => string
}

/** Generates `groupSize` completions for every prompt; returns groups in order of the prompts, samples in order. */
export async function generateTrajectories(
  request: RolloutRequest,
  { policy, generate, decode }: RolloutOptions,
): Promise<UnscoredTrajectory[]> {
  const { prompts, groupSize, onProgress, onGroup } = request
  const trajectories = new Array<UnscoredTrajectory | undefined>(prompts.length * groupSize)
  const missing = new Array<number>(prompts.length).fill(groupSize)
  let done = 0
  onProgress?.({ done, total: trajectories.length })
  for await (const completion of policy.generate(generationRequests(request), generate)) {
    const prompt = prompts[completion.request]
    if (!prompt) throw new Error(`Expected a request below ${prompts.length}, got ${completion.request}.`)
    const text = completionText(completion, generate, decode)
    const first = completion.request * groupSize
    trajectories[first + completion.sample] = singleTurnTrajectory(
      prompt,
      completion.request,
      completion,
      text,
    )
    missing[completion.request]! -= 1
    if (missing[completion.request] === 0)
      onGroup?.(trajectories.slice(first, first + groupSize) as UnscoredTrajectory[])
    onProgress?.({ done: ++done, total: trajectories.length })
  }
  return Array.from(trajectories, (trajectory, place) => {
    if (!trajectory)
      throw new Error(`Expected ${trajectories.length} completions, number ${place} never arrived.`)
    return trajectory
  })
}

/**
 * A trajectory's random numbers depend on (seed, step, row, sample) alone, not on the rest of the batch. If a row
 * occurs twice in a step, its samples are numbered on.
 */
function generationRequests({ prompts, groupSize, seed, step, earlier }: RolloutRequest) {
  const seen = new Map(earlier)
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

/** Reads the text of a completion and its calls of the tools that its prompt offers; null: it calls none. */
export function calledAnswer(
  completion: Completion,
  generate: GenerateOptions,
  offered: OfferedTools,
  tokenizer: Pick<Tokenizer, 'decode'>,
): CalledAnswer | null {
  const { ids, stopReason } = completion
  // The token that ends a turn belongs to no form.
  const spoken = stopReason === 'stop-id' ? ids.subarray(0, -1) : ids
  const decode = (each: Iterable<number>) => tokenizer.decode(each, { skipSpecialTokens: false })
  return readCalls(completionText({ ...completion, ids: spoken }, generate, decode), offered)
}

/** A stop string ends the completion and is not part of the text that is scored. */
export function completionText(
  { ids, stopReason }: Completion,
  { sampling }: GenerateOptions,
  decode: (ids: Iterable<number>) => string,
): string {
  const text = decode(ids)
  if (stopReason !== 'stop-string') return text
  const ends = sampling.stopStrings.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}

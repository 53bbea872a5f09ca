/** Rewards laid on trajectories: on the turns and tokens that earned them, those of the environment and of reward functions. */
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { poolByTurns, turnOfTokens } from './algorithms/terms/turns.ts'
import {
  type GeneratedToken,
  notEmpty,
  type RewardFailurePolicy,
  type RewardInput,
  type RewardSpec,
  scoreRewards,
} from './rewards.ts'
import type {
  EpisodeOutcome,
  PlacedReward,
  Reward,
  Trajectory,
  UnscoredTrajectory,
  WorkflowOutcome,
} from './rollout/trajectory.ts'

export interface RewardOptions {
  readonly rewards: readonly RewardSpec[]
  readonly onFailure: RewardFailurePolicy
  readonly step: number
  /** For functions that want to see tokens. */
  readonly tokenizer: Pick<Tokenizer, 'decode'>
}

/**
 * Adds the rewards: those of the environment turn by turn, and those of the reward functions, which judge the last thing
 * the policy said and count for its last turn, or for the tokens and turns that they name. A trajectory without any
 * reward teaches nothing.
 */
export async function rewardTrajectories(
  trajectories: readonly UnscoredTrajectory[],
  { rewards, onFailure, step, tokenizer }: RewardOptions,
): Promise<Trajectory[]> {
  const wantTokens = rewards.some((spec) => spec.function.needsTokens === true)
  const open = trajectories.filter(({ workflow }) => isJudged(workflow))
  const inputs = open.map((trajectory): RewardInput => ({
    prompt: trajectory.prompt.text,
    completion: trajectory.episode?.lastAction ?? trajectory.completion,
    row: trajectory.prompt.columns,
    step,
    turnLengths: turnLengthsOf(trajectory),
    ...(wantTokens ? { tokens: tokensOf(trajectory, tokenizer) } : {}),
  }))
  const scored = await scoreRewards(rewards, inputs, onFailure)
  const scores = new Map(open.map((trajectory, i) => [trajectory, scored[i]!]))
  return trajectories.map((trajectory) => {
    const { episode, workflow } = trajectory
    const judged = scores.get(trajectory) ?? unjudged
    if (workflow) {
      const reward = withWorkflow(workflow, judged, onFailure)
      return { ...trajectory, reward, ...laidOut(trajectory, reward, reward) }
    }
    const reward = episode === null ? judged : withEnvironment(episode, judged, onFailure)
    return { ...trajectory, reward, ...laidOut(trajectory, reward, judged) }
  })
}

const unjudged: Reward = { parts: {}, total: null, failures: [] }

/** Whether the reward functions are asked; a workflow may have said what its trajectory is worth. */
const isJudged = (workflow: WorkflowOutcome | undefined): boolean =>
  workflow === undefined || (workflow.end === 'returned' && workflow.reward === null)

/** What a workflow says, or else the functions. Errors: `workflow/failed`. */
function withWorkflow(
  { end, failure, reward: own, turns, columns, metrics }: WorkflowOutcome,
  judged: Reward,
  onFailure: RewardFailurePolicy,
): Reward {
  if (failure !== null && onFailure === 'fail') throw workflowFailed(failure)
  const isZero = end === 'failed' && onFailure === 'zero' && turns > 0
  const given = own ?? (isZero ? { ...judged, total: 0 } : judged)
  return {
    ...given,
    failures: failure === null ? given.failures : [{ name: 'workflow', message: failure }],
    ...notEmpty('logged', { ...columns, ...given.logged }),
    ...notEmpty('metrics', { ...metrics, ...given.metrics }),
  }
}

const workflowFailed = (failure: string): AppError =>
  new AppError(
    'workflow/failed',
    `The workflow failed: ${failure}`,
    'Correct the workflow, or let rewardFailures leave such episodes out.',
  )

/** Turns of the policy. */
const turnsOf = ({ episode, workflow }: Pick<UnscoredTrajectory, 'episode' | 'workflow'>): number =>
  episode?.turns ?? workflow?.turns ?? 1

/** Tokens of each turn of the policy. */
function turnLengthsOf(trajectory: UnscoredTrajectory): number[] {
  const lengths = new Array<number>(turnsOf(trajectory)).fill(0)
  for (const turn of turnOfTokens(trajectory)) if (turn >= 0) lengths[turn]! += 1
  return lengths
}

/** All that the policy generated, whatever stands between its turns. */
function tokensOf(
  { ids, actionMask, turnIds, samplerLogprobs }: UnscoredTrajectory,
  tokenizer: Pick<Tokenizer, 'decode'>,
): GeneratedToken[] {
  const isAction = (_: unknown, t: number) => actionMask[t] === 1
  const turns = turnOfTokens({ actionMask, turnIds }).filter(isAction)
  return generatedTokens(
    { ids: ids.subarray(1).filter(isAction), logprobs: samplerLogprobs, turns },
    tokenizer,
  )
}

interface Generated {
  readonly ids: ArrayLike<number>
  readonly logprobs: ArrayLike<number> | null
  /** null: all of one turn. */
  readonly turns: ArrayLike<number> | null
}

export function generatedTokens(
  { ids, logprobs, turns }: Generated,
  tokenizer: Pick<Tokenizer, 'decode'>,
): GeneratedToken[] {
  const decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: false })
  const turnAt = (k: number) => (k < ids.length ? (turns?.[k] ?? 0) : null)
  return Array.from(ids, (id, k) => {
    const text = decoder.push(id)
    const turn = turnAt(k)!
    const isLast = turnAt(k + 1) !== turn
    return { id, text: isLast ? text + decoder.finish() : text, logprob: logprobs?.[k] ?? null, turn }
  })
}

/** Name under which an environment's own reward is charted. */
const environmentPart = 'environment'

function withEnvironment(episode: EpisodeOutcome, judged: Reward, onFailure: RewardFailurePolicy): Reward {
  const own = environmentReward(episode, onFailure)
  const isLeftOut = episode.turns === 0 || (episode.failure !== null && own === null)
  const message = episode.failure ?? openingFault(episode)
  const failures = message === null ? [] : [{ name: environmentPart, message }]
  return {
    parts: { [environmentPart]: own, ...judged.parts },
    total: isLeftOut ? null : sumOf([own, judged.total]),
    failures: [...failures, ...judged.failures],
    logged: { ...episode.columns, ...judged.logged },
    metrics: { ...episode.metrics, ...judged.metrics },
  }
}

/** Why an episode never began, as a sentence: it is no fault of the environment's, but it must be told. */
function openingFault({ turns, overflow }: EpisodeOutcome): string | null {
  if (turns > 0 || overflow === null) return null
  const { fullPromptLength, maxPromptTokens, contextLength, maxNewTokens } = overflow
  const reserved =
    maxNewTokens === null
      ? ''
      : `, since the context of ${contextLength} must also hold ${maxNewTokens} new tokens`
  return `The first observation has ${fullPromptLength} tokens, but at most ${maxPromptTokens} fit${reserved}.`
}

/** What each turn earned in all, and which part of it stands on single tokens. `judged`: the functions' share of `reward`. */
function laidOut(
  trajectory: UnscoredTrajectory,
  { total }: Reward,
  judged: Reward,
): Pick<Trajectory, 'turnRewards' | 'tokenRewards'> {
  if (total === null) return { turnRewards: [], tokenRewards: null }
  const { last, perTurn, perToken }: PlacedReward = judged.placed ?? { ...whole, last: judged.total }
  const tokenRewards = perToken === null ? null : onActions(trajectory.actionMask, perToken)
  const turns = turnsOf(trajectory)
  const own = trajectory.episode?.turnRewards ?? Array.from({ length: turns }, () => null)
  const lastTurn = turns - 1
  const onTokens = tokenRewards && poolByTurns(tokenRewards, turnOfTokens(trajectory), own.length, 'sum')
  const turnRewards = own.map(
    (value, k) =>
      sumOf([value, k === lastTurn ? last : null, perTurn?.[k] ?? null, onTokens?.[k] ?? null]) ?? 0,
  )
  return { turnRewards, tokenRewards }
}

const whole = { perTurn: null, perToken: null }

/** [T] values of the generated tokens where they are predicted, 0 elsewhere. */
function onActions(actionMask: Uint8Array, values: readonly number[]): Float64Array {
  let next = 0
  return Float64Array.from(actionMask, (isAction) => (isAction === 1 ? values[next++]! : 0))
}

/** null where the environment gave none, or failed and failures count for nothing. Errors: `environment/failed`. */
function environmentReward(
  { failure, total }: EpisodeOutcome,
  onFailure: RewardFailurePolicy,
): number | null {
  if (failure === null) return total
  if (onFailure === 'fail') throw environmentFailed(failure)
  return onFailure === 'zero' ? (total ?? 0) : null
}

/** null where nothing is there to add. */
export function sumOf(values: readonly (number | null)[]): number | null {
  const given = values.filter((value) => value !== null)
  return given.length === 0 ? null : given.reduce((sum, value) => sum + value, 0)
}

const environmentFailed = (failure: string): AppError =>
  new AppError(
    'environment/failed',
    `The environment failed: ${failure}`,
    'Correct the environment, or let rewardFailures leave such episodes out.',
  )

/**
 * Rewards as advantages use them: with the length penalty, minus the divergence from the reference policy, and assigned
 * to tokens.
 */
import { choiceSetting, numberSetting, optionalNumberSetting } from '#shared/config/settings.ts'
import type { Advantages, Experience } from '../types.ts'
import { type LengthSettings, lengthSettings } from './groupSettings.ts'
import { actionCount, poolByTurns, spreadOverTurns, turnOfTokens } from './turns.ts'

/**
 * The length penalty of a trajectory: 0 up to `limit` − `buffer` tokens, then rising linearly to `penalty` at the
 * limit. Yu et al. 2025 (DAPO), arXiv:2503.14476, eq. 13, with a weight.
 */
export function softOverlongPenalty(
  tokens: number,
  limit: number,
  { overlongBuffer: buffer, overlongPenalty: penalty }: Omit<LengthSettings, 'maskTruncated'>,
): number {
  if (buffer === 0) return 0
  return penalty * Math.min(Math.max((tokens - (limit - buffer)) / buffer, 0), 1)
}

/** Computes the length penalty of a trajectory; 0 without a known limit. */
export const lengthPenalty = (row: Experience, settings: Omit<LengthSettings, 'maskTruncated'>): number =>
  row.tokenLimit === null ? 0 : softOverlongPenalty(actionCount(row), row.tokenLimit, settings)

/** Rewards of the turns minus the length penalty, which is subtracted from the last turn. */
export function shapedTurnRewards(row: Experience, settings: LengthSettings): readonly number[] {
  const { turnRewards } = row
  if (row.tokenLimit === null || turnRewards.length === 0) return turnRewards
  return turnRewards.with(-1, turnRewards.at(-1)! - lengthPenalty(row, settings))
}

/** Sum of the shaped rewards of the turns. */
export function shapedReward(row: Experience, settings: LengthSettings): number {
  return shapedTurnRewards(row, settings).reduce((sum, reward) => sum + reward, 0)
}

export function mayLearn({ truncated }: Experience, { maskTruncated }: LengthSettings): boolean {
  return !(maskTruncated && truncated)
}

const rewardClipRange = optionalNumberSetting({
  default: null,
  isPositive: true,
  description: 'Limits rewards to ± this.',
})

/** β, for a divergence that is part of the reward. */
export const klInReward = (initial: number) =>
  numberSetting({
    default: initial,
    minimum: 0,
    description:
      'Weight β of the divergence from the reference policy, subtracted from rewards; 0 needs no reference pass.',
  })

export const trajectorySettings = { rewardClipRange, ...lengthSettings } as const

export interface TrajectoryRewardSettings extends LengthSettings {
  /** β. */
  readonly klCoefficient: number
  /** Rewards are clipped to ± this before the divergence is subtracted; null = off. */
  readonly rewardClipRange: number | null
}

/** [B] reward − β · sum over tokens of (behaviour − reference log-probability). */
export function trajectoryRewards(
  batch: readonly Experience[],
  settings: TrajectoryRewardSettings,
): number[] {
  const limit = settings.rewardClipRange ?? Infinity
  return batch.map((row) => {
    const reward = Math.min(Math.max(shapedReward(row, settings), -limit), limit)
    return reward - settings.klCoefficient * divergence(row, settings.klCoefficient)
  })
}

function divergence(row: Experience, coefficient: number): number {
  const { behaviorLogprobs, referenceLogprobs } = row
  if (coefficient === 0) return 0
  if (behaviorLogprobs === null || referenceLogprobs === null) {
    throw new Error('Expected behaviour and reference log-probabilities of every row.')
  }
  const { actionMask } = row
  return actionMask.reduce(
    (sum, isAction, t) => (isAction === 1 ? sum + behaviorLogprobs[t]! - referenceLogprobs[t]! : sum),
    0,
  )
}

/**
 * Copies each trajectory's advantage to its action tokens; truncated ones are excluded from the update if settings say
 * so.
 */
export function perTrajectory(
  advantages: readonly number[],
  batch: readonly Experience[],
  settings: LengthSettings,
): Advantages {
  return {
    tokens: batch.map(({ actionMask }, i) =>
      Float64Array.from(actionMask, (isAction) => (isAction === 1 ? advantages[i]! : 0)),
    ),
    returns: null,
    kept: learningRows(batch, settings),
  }
}

/** Indices of the rows that may take part in the update. */
export const learningRows = (batch: readonly Experience[], settings: LengthSettings): number[] =>
  batch.map((_, i) => i).filter((i) => mayLearn(batch[i]!, settings))

/**
 * `every-token` gives a turn's reward to every token of the turn, as AgileRL does: per-token returns then grow with the
 * length of the completion. `terminal` gives it to the turn's last token alone.
 */
export type RewardPlacement = 'every-token' | 'terminal'

export const rewardPlacementSetting = choiceSetting(
  ['every-token', 'terminal'],
  'every-token',
  'With returns per token: whether a turn’s reward counts on each of its tokens or only on the last.',
)

/** [T] the reward of each token's whole turn; 0 outside the action mask. */
export const turnRewardTokens = (row: Experience): Float64Array =>
  spreadRewards(row.turnRewards, turnOfTokens(row))

const spreadRewards = (rewards: readonly number[], turnIds: Int32Array): Float64Array =>
  spreadOverTurns(
    Float64Array.from(turnIds, (_, turn) => rewards[turn] ?? 0),
    turnIds,
  )

/**
 * [T]; 0 outside the action mask. Rewards of single tokens stay at those tokens; the rest of a turn's reward is placed
 * as `placement` says.
 */
export function rewardTokens(row: Experience, placement: RewardPlacement): Float64Array {
  const { turnRewards, tokenRewards } = row
  const turnIds = turnOfTokens(row)
  const onTokens = tokenRewards && poolByTurns(tokenRewards, turnIds, turnRewards.length, 'sum')
  const rest = onTokens === null ? turnRewards : turnRewards.map((reward, turn) => reward - onTokens[turn]!)
  const isLast = (t: number) => turnIds.indexOf(turnIds[t]!, t + 1) === -1
  return spreadRewards(rest, turnIds).map(
    (reward, t) => (placement === 'every-token' || isLast(t) ? reward : 0) + (tokenRewards?.[t] ?? 0),
  )
}

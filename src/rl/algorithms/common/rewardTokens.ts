/** Rewards of turns as rewards of tokens. */
import { choiceSetting } from '#shared/settings.ts'
import type { Experience } from '../types.ts'
import { spreadOverTurns, turnOfTokens } from './turns.ts'

/**
 * `every-token` counts a turn's reward once per token of the turn, as AgileRL does: per-token returns then grow with
 * the length of the completion. `terminal` gives it to the turn's last token alone.
 */
export type RewardPlacement = 'every-token' | 'terminal'

export const rewardPlacementSetting = choiceSetting(
  ['every-token', 'terminal'],
  'every-token',
  'With returns per token: whether a turn’s reward counts on each of its tokens or only on the last.',
)

/** [T]; 0 outside the action mask. */
export function rewardTokens(row: Experience, placement: RewardPlacement): Float64Array {
  const turnIds = turnOfTokens(row)
  const spread = spreadOverTurns(
    Float64Array.from(turnIds, (_, turn) => row.turnRewards[turn] ?? 0),
    turnIds,
  )
  if (placement === 'every-token') return spread
  return spread.map((reward, t) => (turnIds.indexOf(turnIds[t]!, t + 1) === -1 ? reward : 0))
}

/** What a completion that ran into its length limit teaches. */
import { flagSetting, numberSetting, type SettingsOf } from '#shared/settings.ts'
import type { Experience } from '../types.ts'
import { actionCount } from './actions.ts'

export const lengthSettings = {
  maskTruncated: flagSetting(
    false,
    'Leaves trajectories that were cut off by a limit out of the update; their rewards still count in the baseline.',
  ),
  overlongBuffer: numberSetting({
    default: 0,
    minimum: 0,
    integer: true,
    description: 'The last so many tokens before the length limit cost reward, more the closer; 0 is off.',
  }),
  overlongPenalty: numberSetting({
    default: 1,
    minimum: 0,
    description: 'What a trajectory at the length limit loses of its reward; needs overlongBuffer.',
  }),
} as const

export type LengthSettings = SettingsOf<typeof lengthSettings>

export const lengthDefaults: LengthSettings = { maskTruncated: false, overlongBuffer: 0, overlongPenalty: 1 }

/**
 * What the length of a trajectory costs: 0 up to `limit` − `buffer` tokens, then rising to `penalty` at the limit. Yu et
 * al. 2025 (DAPO), arXiv:2503.14476, eq. 13, with a weight.
 */
export function softOverlongPenalty(
  tokens: number,
  limit: number,
  { overlongBuffer: buffer, overlongPenalty: penalty }: Omit<LengthSettings, 'maskTruncated'>,
): number {
  if (buffer === 0) return 0
  return penalty * Math.min(Math.max((tokens - (limit - buffer)) / buffer, 0), 1)
}

/** Rewards of the turns, less what the length costs, which the last turn pays. Without a known limit length is free. */
export function shapedTurnRewards(row: Experience, settings: LengthSettings): readonly number[] {
  const { turnRewards, tokenLimit } = row
  if (tokenLimit === null || turnRewards.length === 0) return turnRewards
  const penalty = softOverlongPenalty(actionCount(row), tokenLimit, settings)
  return turnRewards.with(-1, turnRewards.at(-1)! - penalty)
}

/** Their sum. */
export function shapedReward(row: Experience, settings: LengthSettings): number {
  return shapedTurnRewards(row, settings).reduce((sum, reward) => sum + reward, 0)
}

/** Whether a trajectory may take part in the update. */
export function mayLearn({ truncated }: Experience, { maskTruncated }: LengthSettings): boolean {
  return !(maskTruncated && truncated)
}

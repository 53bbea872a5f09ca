/** Dynamic sampling: groups that teach nothing are replaced. Yu et al. 2025 (DAPO), arXiv:2503.14476, §3.2. */
import { flagSetting, numberSetting, type SettingsOf } from '#shared/settings.ts'
import type { Experience, GroupAcceptance } from '../types.ts'
import { hasNoSpread } from './statistics.ts'

export const acceptanceSettings = {
  dynamicSampling: flagSetting(
    false,
    'Replaces prompts whose completions all earn the same by further prompts, which takes more generating.',
  ),
  refillRounds: numberSetting({
    default: 3,
    minimum: 1,
    integer: true,
    description: 'How many further rounds of prompts a step may draw with dynamicSampling.',
  }),
} as const

export function groupAcceptance(
  { dynamicSampling, refillRounds }: SettingsOf<typeof acceptanceSettings>,
  granularity: 'trajectory' | 'turn' = 'trajectory',
): GroupAcceptance | null {
  if (!dynamicSampling) return null
  return { accepts: (group) => groupTeaches(group, granularity), rounds: refillRounds }
}

/** Whether the members of a group differ in what they earned: as a whole, or, where turns are compared, in any turn. */
export function groupTeaches(
  group: readonly Pick<Experience, 'turnRewards'>[],
  granularity: 'trajectory' | 'turn',
): boolean {
  if (group.length < 2) return false
  const totals = group.map(({ turnRewards }) => turnRewards.reduce((sum, reward) => sum + reward, 0))
  if (!hasNoSpread(totals)) return true
  if (granularity === 'trajectory') return false
  const turns = Math.max(...group.map(({ turnRewards }) => turnRewards.length))
  return Array.from({ length: turns }, (_, turn) => turn).some((turn) => {
    const played = group.map(({ turnRewards }) => turnRewards[turn]).filter((reward) => reward !== undefined)
    return played.length > 1 && !hasNoSpread(played)
  })
}

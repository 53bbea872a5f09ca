/** Groups: the trajectories that answer one prompt, and which of them are worth learning from. */
import { flagSetting, numberSetting, type SettingsOf } from '#shared/config/settings.ts'
import type { Experience, Group, GroupAcceptance } from '../types.ts'
import { hasNoSpread } from './statistics.ts'

/** In order of first appearance; members need not be adjacent. */
export const groupsOf = <Member extends { readonly group: number }>(
  rows: readonly Member[],
): Group<Member>[] => [...Map.groupBy(rows, ({ group }) => group).values()]

/** What `compare` makes of the values of each group, row by row; a row whose value is null takes no part. values: [B]; returns [B]. */
export function withinGroups<Answer extends number | null>(
  batch: readonly Pick<Experience, 'group'>[],
  values: readonly (number | null)[],
  compare: (values: readonly number[]) => readonly Answer[],
): (Answer | null)[] {
  const answers = new Array<Answer | null>(batch.length).fill(null)
  const rows = batch.flatMap(({ group }, i) => (values[i] == null ? [] : [{ group, i, value: values[i] }]))
  for (const members of groupsOf(rows)) {
    const compared = compare(members.map(({ value }) => value))
    members.forEach(({ i }, k) => (answers[i] = compared[k]!))
  }
  return answers
}

/** Dynamic sampling: groups that teach nothing are replaced. Yu et al. 2025 (DAPO), arXiv:2503.14476, §3.2. */
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
  group: Group<Pick<Experience, 'turnRewards'>>,
  granularity: 'trajectory' | 'turn',
): boolean {
  const differ = (rewards: readonly number[]) => rewards.length > 1 && !hasNoSpread(rewards)
  if (differ(group.map(({ turnRewards }) => turnRewards.reduce((sum, reward) => sum + reward, 0))))
    return true
  if (granularity === 'trajectory') return false
  const turns = Math.max(...group.map(({ turnRewards }) => turnRewards.length))
  return Array.from({ length: turns }, (_, turn) => turn).some((turn) =>
    differ(group.map(({ turnRewards }) => turnRewards[turn]).filter((reward) => reward !== undefined)),
  )
}

/** Groups: the trajectories that answer one prompt, and which of them can be learned from. */
import { flagSetting, numberSetting, type SettingsOf } from '#shared/config/settings.ts'
import type { Experience, Group, GroupAcceptance, RewardPart } from '../types.ts'

/** Groups rows in order of first appearance; the members of a group need not be adjacent. */
export const groupsOf = <Member extends { readonly group: number }>(
  rows: readonly Member[],
): Group<Member>[] => [...Map.groupBy(rows, ({ group }) => group).values()]

/** Applies `compare` to the values of each group; rows whose value is null are left out. values: [B]; returns [B]. */
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

/** Dynamic sampling: zero-variance groups are replaced. Yu et al. 2025 (DAPO), arXiv:2503.14476, §3.2. */
export const acceptanceSettings = {
  dynamicSampling: flagSetting(
    false,
    'Replaces zero-variance groups by groups of further prompts, which takes more generation.',
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
  aggregation: RewardAggregation = 'sum-then-normalize',
): GroupAcceptance | null {
  if (!dynamicSampling) return null
  const accepts: GroupAcceptance['accepts'] =
    aggregation === 'normalize-then-sum' ? partsTeach : (group) => groupTeaches(group, granularity)
  return { accepts, rounds: refillRounds }
}

export type RewardAggregation = 'sum-then-normalize' | 'normalize-then-sum'

/** Tells whether any part of the rewards of a group differs. */
const partsTeach = (group: Group<Rewarded>): boolean =>
  partNames(group).some((name) => {
    const values = group.map((row) => partsOf(row)[name]?.value ?? null).filter((value) => value !== null)
    return values.length > 1 && !hasNoSpread(values)
  })

type Rewarded = Pick<Experience, 'turnRewards' | 'rewardParts'>

/** Returns the parts of a reward; a reward that has none is one itself. */
export const partsOf = ({ turnRewards, rewardParts }: Rewarded): Readonly<Record<string, RewardPart>> =>
  rewardParts ?? { reward: { value: turnRewards.reduce((sum, reward) => sum + reward, 0), weight: 1 } }

/** Joins the parts of a reward with their weights, by name; a name without a weight has 1. No field for fewer than two parts. */
export function partsApart(
  parts: Readonly<Record<string, number | null>>,
  weights: ReadonlyMap<string, number>,
): Pick<Experience, 'rewardParts'> {
  const entries = Object.entries(parts)
  if (entries.length < 2) return {}
  const part = (name: string, value: number | null): RewardPart => ({ value, weight: weights.get(name) ?? 1 })
  return { rewardParts: Object.fromEntries(entries.map(([name, value]) => [name, part(name, value)])) }
}

/** Lists the names of all parts, each once. */
export const partNames = (rows: readonly Rewarded[]): readonly string[] => [
  ...new Set(rows.flatMap((row) => Object.keys(partsOf(row)))),
]

/** Tells whether the rewards of a group differ: in total, or, if turns are compared, in any turn. */
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

// Means and variances in f64.

/** Added to a standard deviation before dividing by it. */
export const SPREAD_EPSILON = 1e-8

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Variance with n−1 in the denominator; 0 for fewer than two values. */
export function sampleVariance(values: readonly number[]): number {
  if (values.length < 2) return 0
  const center = mean(values)
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1)
}

/**
 * True if the values differ only by rounding. Dividing the rounding error of a mean by a tiny standard deviation would
 * invent advantages where there is nothing to learn, so such values count as equal.
 */
export function hasNoSpread(values: readonly number[]): boolean {
  return Math.sqrt(sampleVariance(values)) <= 1e-12 * Math.max(1, Math.abs(mean(values)))
}

/** (x − mean) / (standard deviation + 1e-8); all 0 if the values are equal up to rounding. */
export function standardized(values: readonly number[]): number[] {
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  const spread = Math.sqrt(sampleVariance(values)) + SPREAD_EPSILON
  return values.map((value) => (value - center) / spread)
}

/** x − mean; all 0 if the values are equal up to rounding. */
export function centered(values: readonly number[]): number[] {
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  return values.map((value) => value - center)
}

/** (x − mean) / √(variance + 1e-8), unbiased variance. Fewer than two values are returned unchanged. */
export function whitened(values: readonly number[]): number[] {
  if (values.length < 2) return [...values]
  if (hasNoSpread(values)) return values.map(() => 0)
  const center = mean(values)
  const scale = 1 / Math.sqrt(sampleVariance(values) + SPREAD_EPSILON)
  return values.map((value) => (value - center) * scale)
}

/** Quantile with linear interpolation between the two nearest ranks; `values` need not be sorted. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = share * (sorted.length - 1)
  const low = Math.floor(rank)
  const below = sorted[low]!
  return below + (rank - low) * ((sorted[low + 1] ?? below) - below)
}

/** One reward and one advantage per trajectory, the divergence from the reference policy taken off the reward. */
import type { Experience } from '../types.ts'
import { atActions, sumOverActions } from './actions.ts'
import { membersByGroup } from './groupAdvantages.ts'
import { type LengthSettings, shapedReward } from './lengthShaping.ts'
import { centered, standardized } from './statistics.ts'

export interface TrajectoryRewardSettings extends LengthSettings {
  /** β. */
  readonly klCoefficient: number
  /** Rewards are limited to ± this before the divergence is taken off; null = off. */
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
  return sumOverActions(row, (t) => behaviorLogprobs[t]! - referenceLogprobs[t]!)
}

/** Each value less the mean of the others of its group; 0 where there are no others. Kool et al. 2019. */
export function leaveOneOut(values: readonly number[], groups: readonly number[]): number[] {
  return mapGroups(values, groups, (members) => {
    if (members.length < 2) return [0]
    const sum = members.reduce((total, value) => total + value, 0)
    return members.map((value) => value - (sum - value) / (members.length - 1))
  })
}

/** Each value less the mean of its group. */
export function groupCentered(values: readonly number[], groups: readonly number[]): number[] {
  return mapGroups(values, groups, centered)
}

function mapGroups(
  values: readonly number[],
  groups: readonly number[],
  map: (members: readonly number[]) => readonly number[],
): number[] {
  const result = new Array<number>(values.length).fill(0)
  for (const members of membersByGroup(groups)) {
    const mapped = map(members.map((i) => values[i]!))
    members.forEach((i, position) => (result[i] = mapped[position]!))
  }
  return result
}

/** Mean 0 and standard deviation 1 over all action tokens of `rows`, on each of which its row's value stands. */
export function standardizedOverTokens(
  values: readonly number[],
  batch: readonly Experience[],
  rows: readonly number[],
): number[] {
  const owners = rows.flatMap((i) =>
    [...batch[i]!.actionMask].filter((isAction) => isAction === 1).map(() => i),
  )
  const flat = standardized(owners.map((i) => values[i]!))
  const result = [...values]
  owners.forEach((i, entry) => (result[i] = flat[entry]!))
  return result
}

/** [B][T] each row's value on its action tokens. */
export function onActions(values: readonly number[], batch: readonly Experience[]): Float64Array[] {
  return batch.map((row, i) => atActions(row, () => values[i]!))
}

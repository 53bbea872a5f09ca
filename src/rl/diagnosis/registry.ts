/** Every rule. A rule is a file in rules/ that finds what its name says, or nothing. */
import type { Rule } from './rule.ts'
import { capHits, samplerGap, samplingWidth } from './rules/sampling.ts'
import { clipShare, divergence, skippedUpdates, gradientSpikes, lossZeroAtStart } from './rules/updates.ts'
import { constantReward, rewardFailures, rewardSize, rewardsCancel } from './rules/rewards.ts'
import { entropyCollapse, entropyExplosion } from './rules/entropy.ts'
import { formatMismatch } from './rules/formatMismatch.ts'
import { groupCollapse } from './rules/groupCollapse.ts'
import { heldOutGap, heldOutTask } from './rules/heldOut.ts'
import { klRunaway, klTooHeavy } from './rules/kl.ts'
import { policyDestroyed } from './rules/policyDestroyed.ts'
import { rewardHacking } from './rules/rewardHacking.ts'

/** Causes before what they bring about (causes.ts says which is which): of findings equally grave the first comes first. */
export const rules: readonly Rule[] = [
  rewardFailures,
  rewardSize,
  divergence,
  skippedUpdates,
  samplingWidth,
  policyDestroyed,
  samplerGap,
  rewardsCancel,
  capHits,
  formatMismatch,
  constantReward,
  klTooHeavy,
  entropyExplosion,
  groupCollapse,
  klRunaway,
  gradientSpikes,
  entropyCollapse,
  clipShare,
  heldOutTask,
  rewardHacking,
  heldOutGap,
  lossZeroAtStart,
]

/** Every rule. A rule is a file in rules/ that finds what its name says, or nothing. */
import type { Rule } from './rule.ts'
import { capHits } from './rules/capHits.ts'
import { clipShare } from './rules/clipShare.ts'
import { constantReward } from './rules/constantReward.ts'
import { divergence } from './rules/divergence.ts'
import { entropyCollapse } from './rules/entropyCollapse.ts'
import { entropyExplosion } from './rules/entropyExplosion.ts'
import { formatMismatch } from './rules/formatMismatch.ts'
import { gradientSpikes } from './rules/gradientSpikes.ts'
import { groupCollapse } from './rules/groupCollapse.ts'
import { heldOutGap } from './rules/heldOutGap.ts'
import { heldOutTask } from './rules/heldOutTask.ts'
import { klRunaway } from './rules/klRunaway.ts'
import { klTooHeavy } from './rules/klTooHeavy.ts'
import { lossZeroAtStart } from './rules/lossZero.ts'
import { policyDestroyed } from './rules/policyDestroyed.ts'
import { rewardFailures } from './rules/rewardFailures.ts'
import { rewardHacking } from './rules/rewardHacking.ts'
import { rewardsCancel } from './rules/rewardsCancel.ts'
import { rewardSize } from './rules/rewardSize.ts'
import { samplerGap } from './rules/samplerGap.ts'
import { samplingWidth } from './rules/samplingWidth.ts'
import { skippedUpdates } from './rules/skippedUpdates.ts'

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

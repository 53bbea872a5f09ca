/** Every rule. A rule is a file in rules/ that finds what its name says, or nothing. */
import type { Rule } from './rule.ts'
import { capHits } from './rules/capHits.ts'
import { clipShare } from './rules/clipShare.ts'
import { deadReward } from './rules/deadReward.ts'
import { divergence } from './rules/divergence.ts'
import { entropyCollapse } from './rules/entropyCollapse.ts'
import { formatMismatch } from './rules/formatMismatch.ts'
import { groupCollapse } from './rules/groupCollapse.ts'
import { klRunaway } from './rules/klRunaway.ts'
import { lossZeroAtStart } from './rules/lossZero.ts'
import { rewardFailures } from './rules/rewardFailures.ts'
import { rewardHacking } from './rules/rewardHacking.ts'
import { samplerGap } from './rules/samplerGap.ts'

/** Of findings equally grave the one that explains the others comes first. */
export const rules: readonly Rule[] = [
  divergence,
  rewardFailures,
  samplerGap,
  formatMismatch,
  deadReward,
  capHits,
  groupCollapse,
  klRunaway,
  entropyCollapse,
  clipShare,
  rewardHacking,
  lossZeroAtStart,
]

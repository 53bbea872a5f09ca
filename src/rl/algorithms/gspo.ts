import { clipConflicts } from './losses/clipping.ts'
import {
  acceptanceAtLevel,
  advantagesAtLevel,
  clippedWithin,
  clipSetting,
  groupNeeds,
  groupSettings,
  groupSize,
  ratioLimitSetting,
} from './common/groupSettings.ts'
import { groupLoss } from './losses/groupLoss.ts'
import { defineAlgorithm } from './define.ts'

/** Group Sequence Policy Optimization: GRPO with one importance ratio per trajectory. Zheng et al. 2025, arXiv:2507.18071. */
export const gspo = defineAlgorithm({
  id: 'gspo',
  title: 'GSPO',
  description: 'GRPO that clips whole trajectories instead of single tokens; steadier over several updates.',
  source: 'Zheng et al. 2025, arXiv:2507.18071',
  experience: 'rollout',
  groupSize,
  settings: { clipCoefficient: clipSetting, ratioLimit: ratioLimitSetting, ...groupSettings },
  conflicts: ({ clipCoefficient, ratioLimit }) => clipConflicts(clipCoefficient, ratioLimit),
  needs: groupNeeds,
  advantages: (batch, settings) => advantagesAtLevel(batch, settings, 'trajectory'),
  acceptance: (settings) => acceptanceAtLevel(settings, 'trajectory'),
  minibatchLoss: (minibatch, settings) =>
    groupLoss(minibatch, { ...settings, level: 'trajectory', surrogate: clippedWithin(settings) }),
})

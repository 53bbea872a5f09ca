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
import { ratioLevelSetting } from './common/units.ts'
import { defineAlgorithm } from './define.ts'

/** Group Relative Policy Optimization. Shao et al. 2024, arXiv:2402.03300, §4.1. */
export const grpo = defineAlgorithm({
  id: 'grpo',
  title: 'GRPO',
  description: 'Compares several completions of one prompt; what beats the group average becomes likelier.',
  source: 'Shao et al. 2024, arXiv:2402.03300',
  experience: 'rollout',
  groupSize,
  settings: {
    clipCoefficient: clipSetting,
    ratioLimit: ratioLimitSetting,
    importanceSamplingLevel: ratioLevelSetting,
    ...groupSettings,
  },
  conflicts: ({ clipCoefficient, ratioLimit }) => clipConflicts(clipCoefficient, ratioLimit),
  needs: groupNeeds,
  advantages: (batch, settings) => advantagesAtLevel(batch, settings, settings.importanceSamplingLevel),
  acceptance: (settings) => acceptanceAtLevel(settings, settings.importanceSamplingLevel),
  minibatchLoss: (minibatch, settings) =>
    groupLoss(minibatch, {
      ...settings,
      level: settings.importanceSamplingLevel,
      surrogate: clippedWithin(settings),
    }),
})

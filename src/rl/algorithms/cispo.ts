import { numberOrPairSetting } from '#shared/settings.ts'
import { clipConflicts, upperBounds } from './losses/clipping.ts'
import {
  acceptanceAtLevel,
  advantagesAtLevel,
  groupNeeds,
  groupSettings,
  groupSize,
} from './common/groupSettings.ts'
import { groupLoss } from './losses/groupLoss.ts'
import { ratioLevelSetting } from './common/units.ts'
import { defineAlgorithm } from './define.ts'

/** Clipped Importance Sampling Policy Optimization: clipped tokens keep their gradient. MiniMax 2025, arXiv:2506.13585, §3.1. */
export const cispo = defineAlgorithm({
  id: 'cispo',
  title: 'CISPO',
  description: 'GRPO that limits how much a token may weigh but never silences it.',
  source: 'MiniMax 2025, arXiv:2506.13585',
  experience: 'rollout',
  groupSize,
  settings: {
    clipCoefficient: numberOrPairSetting({
      default: 0.2,
      description:
        'How far the weight of a token may exceed 1: c for at most 1+c and no lower bound, or the two bounds themselves.',
    }),
    importanceSamplingLevel: ratioLevelSetting,
    ...groupSettings,
  },
  conflicts: ({ clipCoefficient }) => clipConflicts(clipCoefficient, null),
  needs: groupNeeds,
  advantages: (batch, settings) => advantagesAtLevel(batch, settings, settings.importanceSamplingLevel),
  acceptance: (settings) => acceptanceAtLevel(settings, settings.importanceSamplingLevel),
  minibatchLoss: (minibatch, settings) =>
    groupLoss(minibatch, {
      ...settings,
      level: settings.importanceSamplingLevel,
      surrogate: { kind: 'cispo', bounds: upperBounds(settings.clipCoefficient) },
    }),
})

import { numberSetting } from '#shared/settings.ts'
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

/** Soft Adaptive Policy Optimization: a gate that closes smoothly instead of a clip. Gao et al. 2025, arXiv:2511.20347, §3. */
export const sapo = defineAlgorithm({
  id: 'sapo',
  title: 'SAPO',
  description:
    'GRPO with a soft gate in place of the clip: tokens fade out the further their ratio is from 1.',
  source: 'Gao et al. 2025, arXiv:2511.20347',
  experience: 'rollout',
  groupSize,
  settings: {
    positiveTemperature: numberSetting({
      default: 1,
      minimum: 0.01,
      description:
        'How fast the gate closes where the advantage is positive: the higher, the closer to a clip.',
    }),
    negativeTemperature: numberSetting({
      default: 1.05,
      minimum: 0.01,
      description:
        'The same where it is negative; higher than the other, because such tokens unsettle training more.',
    }),
    importanceSamplingLevel: ratioLevelSetting,
    ...groupSettings,
  },
  needs: groupNeeds,
  advantages: (batch, settings) => advantagesAtLevel(batch, settings, settings.importanceSamplingLevel),
  acceptance: (settings) => acceptanceAtLevel(settings, settings.importanceSamplingLevel),
  minibatchLoss: (minibatch, settings) =>
    groupLoss(minibatch, {
      ...settings,
      level: settings.importanceSamplingLevel,
      surrogate: {
        kind: 'soft-gate',
        temperatures: { positive: settings.positiveTemperature, negative: settings.negativeTemperature },
      },
    }),
})

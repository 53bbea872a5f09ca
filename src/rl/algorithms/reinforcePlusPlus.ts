import { numberSetting } from '#shared/settings.ts'
import { clipBounds } from './losses/clipping.ts'
import { acceptanceSettings, groupAcceptance } from './common/groupAcceptance.ts'
import { mayLearn } from './common/lengthShaping.ts'
import { sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { klPenalty, surprisal } from './losses/penalties.ts'
import {
  groupCentered,
  onActions,
  standardizedOverTokens,
  trajectoryRewards,
} from './common/trajectoryAdvantages.ts'
import { symmetricClip, trajectorySettings } from './common/trajectorySettings.ts'
import { unitSurrogate } from './losses/unitSurrogate.ts'
import { ratioLevelSetting } from './common/units.ts'
import { defineAlgorithm } from './define.ts'

/**
 * REINFORCE++ with baseline: rewards centred in their group, then standardised over the whole batch instead of over the
 * group. Hu et al. 2025, arXiv:2501.03262, "REINFORCE++ w/ Baseline".
 */
export const reinforcePlusPlus = defineAlgorithm({
  id: 'reinforce-plus-plus',
  title: 'REINFORCE++ baseline',
  description:
    'GRPO whose advantages are scaled by the spread of the whole batch instead of each group’s own.',
  source: 'Hu et al. 2025, arXiv:2501.03262',
  experience: 'rollout',
  groupSize: { default: 8, minimum: 2 },
  settings: {
    klCoefficient: numberSetting({
      default: 0.001,
      minimum: 0,
      description:
        'Weight β of the divergence (k2) from the reference policy in the loss; 0 needs no reference pass.',
    }),
    clipCoefficient: symmetricClip,
    importanceSamplingLevel: ratioLevelSetting,
    ...trajectorySettings,
    ...acceptanceSettings,
  },
  needs: ({ klCoefficient }) => ({ ...noNeeds, ratio: true, reference: klCoefficient !== 0 }),
  acceptance: (settings) => groupAcceptance(settings),
  advantages(batch, settings) {
    const kept = batch.map((_, i) => i).filter((i) => mayLearn(batch[i]!, settings))
    const rewards = trajectoryRewards(batch, { ...settings, klCoefficient: 0 })
    const compared = groupCentered(
      rewards,
      batch.map(({ group }) => group),
    )
    const advantages = standardizedOverTokens(compared, batch, kept)
    return { tokens: onActions(advantages, batch), returns: null, kept }
  },
  minibatchLoss: (minibatch, { importanceSamplingLevel: level, clipCoefficient, klCoefficient }) =>
    sumOfTerms([
      unitSurrogate(minibatch, { level, pooling: 'mean', bounds: clipBounds(clipCoefficient) }),
      klPenalty(minibatch, klCoefficient, { klEstimator: 'k2', klClamp: null }),
      surprisal,
    ]),
})

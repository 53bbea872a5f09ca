import { choiceSetting, numberSetting } from '#shared/settings.ts'
import { clipBounds } from './losses/clipping.ts'
import { sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { referenceLogRatio, surprisal } from './losses/penalties.ts'
import { returnAdvantages } from './common/returnAdvantages.ts'
import { rewardPlacementSetting } from './common/rewardTokens.ts'
import { klInReward, symmetricClip } from './common/trajectorySettings.ts'
import { unitSurrogate } from './losses/unitSurrogate.ts'
import { poolingAt, ratioLevelSetting, turnRatioPoolingSetting } from './common/units.ts'
import { defineAlgorithm } from './define.ts'

/**
 * REINFORCE with return batch normalisation: returns standardised over the batch instead of a baseline, clipped ratio.
 * Williams 1992; normalisation as in Hu et al. 2025, arXiv:2501.03262.
 */
export const reinforce = defineAlgorithm({
  id: 'reinforce',
  title: 'REINFORCE',
  description: 'One completion per prompt; what returns more than the batch average becomes likelier.',
  source: 'Williams 1992; Hu et al. 2025, arXiv:2501.03262',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: klInReward(0.01),
    clipCoefficient: symmetricClip,
    discount: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'γ from turn to turn or token to token.',
    }),
    advantageGranularity: choiceSetting(
      ['auto', 'turn', 'token'],
      'auto',
      'Returns per turn or per token; auto is per token only when every trajectory has one turn.',
    ),
    rewardPlacement: rewardPlacementSetting,
    importanceSamplingLevel: ratioLevelSetting,
    turnRatioPooling: turnRatioPoolingSetting,
  },
  needs: ({ klCoefficient }) => ({
    ...noNeeds,
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
  }),
  advantages: (batch, settings) =>
    returnAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  minibatchLoss(minibatch, { importanceSamplingLevel: level, turnRatioPooling, clipCoefficient }) {
    const pooling = poolingAt(level, turnRatioPooling)
    return sumOfTerms([
      unitSurrogate(minibatch, { level, pooling, bounds: clipBounds(clipCoefficient) }),
      surprisal,
      referenceLogRatio,
    ])
  },
})

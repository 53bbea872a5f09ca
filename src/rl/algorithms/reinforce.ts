import { choiceSetting, numberSetting } from '#shared/settings.ts'
import { clip, minimum, multiply, negative } from './terms/differentiable.ts'
import { clipBounds, ratioLevelSetting } from './terms/policyTerms.ts'
import { returnAdvantages } from './terms/returnAdvantages.ts'
import { klInReward, rewardPlacementSetting } from './terms/rewards.ts'
import {
  poolingAt,
  referenceLogRatio,
  surprisal,
  surrogateMetrics,
  symmetricClip,
  turnRatioPoolingSetting,
  unitMean,
  unitRatios,
} from './terms/unitTerms.ts'
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
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
  }),
  // A = the discounted return of a turn or token, standardised over the batch.
  advantages: (batch, settings) =>
    returnAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  loss(minibatch, { importanceSamplingLevel: level, turnRatioPooling, clipCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const average = unitMean(minibatch, level)
    return (tokens) => {
      const {
        ratio,
        advantages: A,
        correction,
      } = unitRatios(tokens, level, poolingAt(level, turnRatioPooling))
      const gain = minimum(multiply(ratio, A), multiply(clip(ratio, bounds), A))
      const loss = negative(multiply(correction, gain))
      return {
        loss: average(loss),
        metrics: {
          ...surrogateMetrics(loss, ratio, bounds),
          ...surprisal(tokens),
          ...referenceLogRatio(tokens),
        },
      }
    }
  },
})

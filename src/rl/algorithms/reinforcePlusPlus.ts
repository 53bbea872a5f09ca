import { numberSetting } from '#shared/config/settings.ts'
import { arithmetic, clip } from './terms/differentiable.ts'
import { clipBounds, ratioLevelSetting } from './terms/groupSettings.ts'
import { acceptanceSettings, groupAcceptance, withinGroups, centered, standardized } from './terms/groups.ts'
import { actionCount } from './terms/turns.ts'
import { learningRows, perTrajectory, trajectoryRewards, trajectorySettings } from './terms/rewards.ts'
import { klPenalty, symmetricClip, unitMean, unitRatios } from './terms/unitTerms.ts'
import { surprisal, surrogateMetrics } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'
import type { Experience } from './types.ts'

const { add, minimum, multiply, negative } = arithmetic

/**
 * REINFORCE++ with baseline: rewards centred in their group, then standardised over the whole batch instead of over the
 * group. Hu et al. 2025, arXiv:2501.03262, "REINFORCE++ w/ Baseline".
 */
export const reinforcePlusPlus = defineAlgorithm({
  id: 'reinforce-plus-plus',
  title: 'REINFORCE++ baseline',
  description:
    'GRPO with advantages divided by the standard deviation of the whole batch instead of the group’s.',
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
  needs: ({ klCoefficient }) => ({ ratio: true, reference: klCoefficient !== 0 }),
  acceptance: (settings) => groupAcceptance(settings),
  advantages(batch, settings) {
    const rewards = trajectoryRewards(batch, { ...settings, klCoefficient: 0 })
    // A = (r − mean r of the group) / std over all tokens of the batch
    const compared = withinGroups(batch, rewards, centered).map((advantage) => advantage ?? 0)
    const kept = learningRows(batch, settings)
    return perTrajectory(standardizedOverTokens(compared, batch, kept), batch, settings)
  },
  loss(minibatch, { importanceSamplingLevel: level, clipCoefficient, klCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const average = unitMean(minibatch, level)
    const klTerm = klPenalty(minibatch, klCoefficient, { klEstimator: 'k2', klClamp: null })
    return (tokens) => {
      const { ratio, advantages: A, correction } = unitRatios(tokens, level, 'mean')
      const gain = minimum(multiply(ratio, A), multiply(clip(ratio, bounds), A))
      const loss = negative(multiply(correction, gain))
      const kl = klTerm(tokens)
      return {
        loss: add(average(loss), kl.loss),
        metrics: { ...surrogateMetrics(loss, ratio, bounds), ...kl.metrics, ...surprisal(tokens) },
      }
    }
  },
})

/** Standardises over all action tokens of `rows` (mean 0, standard deviation 1); each token has its row's value. */
function standardizedOverTokens(
  values: readonly number[],
  batch: readonly Experience[],
  rows: readonly number[],
): number[] {
  const owners = rows.flatMap((i) => new Array<number>(actionCount(batch[i]!)).fill(i))
  const flat = standardized(owners.map((i) => values[i]!))
  const result = [...values]
  owners.forEach((i, entry) => (result[i] = flat[entry]!))
  return result
}

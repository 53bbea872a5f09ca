import { choiceSetting, flagSetting } from '#shared/config/settings.ts'
import { arithmetic, clip } from './terms/differentiable.ts'
import { clipBounds } from './terms/groupSettings.ts'
import { acceptanceSettings, groupAcceptance, withinGroups, standardized } from './terms/groups.ts'
import { klInReward, perTrajectory, trajectoryRewards, trajectorySettings } from './terms/rewards.ts'
import { symmetricClip, unitMean, unitRatios } from './terms/unitTerms.ts'
import { referenceLogRatio, surprisal, surrogateMetrics } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'

const { minimum, multiply, negative } = arithmetic

/**
 * REINFORCE leave-one-out: the baseline of a completion is the mean reward of the others of its prompt, and a whole
 * completion is one action. Ahmadian et al. 2024, arXiv:2402.14740, eq. 7 (the baseline: Kool et al. 2019).
 */
export const rloo = defineAlgorithm({
  id: 'rloo',
  title: 'RLOO',
  description:
    'Compares each completion with the mean of the others of its prompt; unbiased and without a critic.',
  source: 'Ahmadian et al. 2024, arXiv:2402.14740',
  experience: 'rollout',
  groupSize: { default: 4, minimum: 2 },
  settings: {
    klCoefficient: klInReward(0.05),
    clipCoefficient: symmetricClip,
    normalizeAdvantages: flagSetting(false, 'Standardises advantages over the batch.'),
    importanceSamplingLevel: choiceSetting(
      ['trajectory', 'turn', 'token'],
      'trajectory',
      'Which tokens share one importance ratio.',
    ),
    ratioPooling: choiceSetting(
      ['sum', 'mean'],
      'sum',
      'How the log-ratios of tokens that share a ratio are combined; sum is the ratio of their probabilities.',
    ),
    ...trajectorySettings,
    ...acceptanceSettings,
  },
  needs: ({ klCoefficient }) => ({
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
  }),
  acceptance: (settings) => groupAcceptance(settings),
  advantages(batch, settings) {
    const rewards = trajectoryRewards(batch, settings)
    // A = r − the mean of the others'; 0 for the only trajectory of a group.
    const compared = withinGroups(batch, rewards, (members) => {
      const total = members.reduce((sum, reward) => sum + reward, 0)
      const others = Math.max(members.length - 1, 1)
      return members.map((reward) => (members.length < 2 ? 0 : reward - (total - reward) / others))
    }).map((advantage) => advantage ?? 0)
    const advantages = settings.normalizeAdvantages ? standardized(compared) : compared
    return perTrajectory(advantages, batch, settings)
  },
  loss(minibatch, { importanceSamplingLevel: level, ratioPooling, clipCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const average = unitMean(minibatch, level)
    return (tokens) => {
      const { ratio, advantages: A, correction } = unitRatios(tokens, level, ratioPooling)
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

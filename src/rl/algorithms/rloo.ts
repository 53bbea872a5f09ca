import { choiceSetting, flagSetting } from '#shared/settings.ts'
import { clipBounds } from './losses/clipping.ts'
import { acceptanceSettings, groupAcceptance } from './common/groupAcceptance.ts'
import { mayLearn } from './common/lengthShaping.ts'
import { sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { referenceLogRatio, surprisal } from './losses/penalties.ts'
import { standardized } from './common/statistics.ts'
import { leaveOneOut, onActions, trajectoryRewards } from './common/trajectoryAdvantages.ts'
import { klInReward, symmetricClip, trajectorySettings } from './common/trajectorySettings.ts'
import { unitSurrogate } from './losses/unitSurrogate.ts'
import { defineAlgorithm } from './define.ts'

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
      'How the log-ratios of tokens that share a ratio become one; sum is the ratio of their probabilities.',
    ),
    ...trajectorySettings,
    ...acceptanceSettings,
  },
  needs: ({ klCoefficient }) => ({
    ...noNeeds,
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
  }),
  acceptance: (settings) => groupAcceptance(settings),
  advantages(batch, settings) {
    const compared = leaveOneOut(
      trajectoryRewards(batch, settings),
      batch.map(({ group }) => group),
    )
    const advantages = settings.normalizeAdvantages ? standardized(compared) : compared
    return {
      tokens: onActions(advantages, batch),
      returns: null,
      kept: batch.map((_, i) => i).filter((i) => mayLearn(batch[i]!, settings)),
    }
  },
  minibatchLoss: (minibatch, { importanceSamplingLevel: level, ratioPooling: pooling, clipCoefficient }) =>
    sumOfTerms([
      unitSurrogate(minibatch, { level, pooling, bounds: clipBounds(clipCoefficient) }),
      surprisal,
      referenceLogRatio,
    ]),
})

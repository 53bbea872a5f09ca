import { numberOrPairSetting } from '#shared/config/settings.ts'
import { arithmetic, clip, constant } from './terms/differentiable.ts'
import {
  acceptanceAt,
  clipBounds,
  clipConflicts,
  groupNeeds,
  groupSettings,
  groupSize,
  ratioLevelSetting,
} from './terms/groupSettings.ts'
import { groupAdvantages } from './terms/groupAdvantages.ts'
import {
  entropyBonus,
  entropyThreshold,
  importanceRatio,
  klTerm,
  normalizer,
  whereLearning,
} from './terms/policyTerms.ts'
import { unitsAt } from './terms/loss.ts'
import { clipFractions } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'

const { add, multiply, subtract } = arithmetic

/** Clipped Importance Sampling Policy Optimization: clipped tokens keep their gradient. MiniMax 2025, arXiv:2506.13585, §3.1 and eq. 4. */
export const cispo = defineAlgorithm({
  id: 'cispo',
  title: 'CISPO',
  description: 'GRPO that limits the weight of a token but never drops its gradient.',
  source: 'MiniMax 2025, arXiv:2506.13585',
  experience: 'rollout',
  groupSize,
  settings: {
    clipCoefficient: numberOrPairSetting({
      default: 0.2,
      description:
        'How far a token’s weight may exceed 1: c for at most 1+c without a lower bound, or the two bounds.',
    }),
    importanceSamplingLevel: ratioLevelSetting,
    ...groupSettings,
  },
  conflicts: clipConflicts,
  needs: groupNeeds,
  // A = (r − mean r) / std r, over the completions of one prompt.
  advantages: (batch, settings) =>
    groupAdvantages(batch, settings, settings.importanceSamplingLevel, ({ rewards, mean, deviation }) =>
      rewards.map((reward) => (reward - mean) / deviation),
    ),
  acceptance: (settings) => acceptanceAt(settings, settings.importanceSamplingLevel),
  loss(minibatch, settings) {
    const bounds = clipBounds(settings.clipCoefficient, 0)
    const average = normalizer(minibatch, settings.lossNorm)
    const threshold = entropyThreshold(minibatch, settings.topEntropyShare)
    const bonus = entropyBonus(minibatch, settings.entropyCoefficient, threshold)
    return (tokens) => {
      const ratio = importanceRatio(tokens, settings.importanceSamplingLevel) // ρ
      const kl = klTerm(tokens, ratio, settings)
      const A = add(tokens.advantages, kl.shaping)
      const gain = multiply(multiply(constant(clip(ratio, bounds)), A), tokens.logp)
      const surrogate = whereLearning(tokens, gain, { ...settings, threshold })
      return {
        loss: add(average(tokens, subtract(kl.penalty, surrogate)), bonus(tokens)),
        metrics: {
          ...kl.metrics,
          ...clipFractions(ratio, bounds, unitsAt(tokens, settings.importanceSamplingLevel)),
        },
      }
    }
  },
})

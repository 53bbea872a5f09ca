import { arithmetic, clip } from './terms/differentiable.ts'
import {
  acceptanceAt,
  clipBounds,
  clipConflicts,
  clipSettings,
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

const { add, minimum, multiply, subtract } = arithmetic

/** Group Relative Policy Optimization. Shao et al. 2024, arXiv:2402.03300, §4.1 and eq. 3. */
export const grpo = defineAlgorithm({
  id: 'grpo',
  title: 'GRPO',
  description:
    'Compares several completions of one prompt; those above the group average become more likely.',
  source: 'Shao et al. 2024, arXiv:2402.03300',
  experience: 'rollout',
  groupSize,
  settings: { ...clipSettings, importanceSamplingLevel: ratioLevelSetting, ...groupSettings },
  conflicts: clipConflicts,
  needs: groupNeeds,
  // A = (r − mean r) / std r, over the completions of one prompt.
  advantages: (batch, settings) =>
    groupAdvantages(batch, settings, settings.importanceSamplingLevel, ({ rewards, mean, deviation }) =>
      rewards.map((reward) => (reward - mean) / deviation),
    ),
  acceptance: (settings) => acceptanceAt(settings, settings.importanceSamplingLevel),
  loss(minibatch, settings) {
    const bounds = clipBounds(settings.clipCoefficient)
    const limit = settings.ratioLimit ?? Infinity
    const average = normalizer(minibatch, settings.lossNorm)
    const threshold = entropyThreshold(minibatch, settings.topEntropyShare)
    const bonus = entropyBonus(minibatch, settings.entropyCoefficient, threshold)
    return (tokens) => {
      const ratio = importanceRatio(tokens, settings.importanceSamplingLevel) // ρ
      const kl = klTerm(tokens, ratio, settings)
      const A = add(tokens.advantages, kl.shaping)
      const gain = minimum(multiply(minimum(ratio, limit), A), multiply(clip(ratio, bounds), A))
      const surrogate = whereLearning(tokens, gain, { ...settings, threshold })
      return {
        loss: add(average(tokens, subtract(kl.penalty, surrogate)), bonus(tokens)),
        metrics: {
          ...kl.metrics,
          ...clipFractions(
            ratio,
            bounds,
            unitsAt(tokens, settings.importanceSamplingLevel),
            tokens.advantages,
          ),
        },
      }
    }
  },
})

import { arithmetic, clip } from './terms/differentiable.ts'
import {
  acceptanceAt,
  clipBounds,
  clipConflicts,
  clipSettings,
  groupNeeds,
  groupSettings,
  groupSize,
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

/** Group Sequence Policy Optimization: GRPO with one importance ratio per trajectory. Zheng et al. 2025, arXiv:2507.18071. */
export const gspo = defineAlgorithm({
  id: 'gspo',
  title: 'GSPO',
  description: 'GRPO that clips whole trajectories instead of single tokens; steadier over several updates.',
  source: 'Zheng et al. 2025, arXiv:2507.18071',
  experience: 'rollout',
  groupSize,
  settings: { ...clipSettings, ...groupSettings },
  conflicts: clipConflicts,
  needs: groupNeeds,
  // A = (r − mean r) / std r, over the completions of one prompt.
  advantages: (batch, settings) =>
    groupAdvantages(batch, settings, 'trajectory', ({ rewards, mean, deviation }) =>
      rewards.map((reward) => (reward - mean) / deviation),
    ),
  acceptance: (settings) => acceptanceAt(settings, 'trajectory'),
  loss(minibatch, settings) {
    const bounds = clipBounds(settings.clipCoefficient)
    const limit = settings.ratioLimit ?? Infinity
    const average = normalizer(minibatch, settings.lossNorm)
    const threshold = entropyThreshold(minibatch, settings.topEntropyShare)
    const bonus = entropyBonus(minibatch, settings.entropyCoefficient, threshold)
    return (tokens) => {
      const ratio = importanceRatio(tokens, 'trajectory') // ρ
      const kl = klTerm(tokens, ratio, settings)
      const A = add(tokens.advantages, kl.shaping)
      const gain = minimum(multiply(minimum(ratio, limit), A), multiply(clip(ratio, bounds), A))
      const surrogate = whereLearning(tokens, gain, { ...settings, threshold })
      return {
        loss: add(average(tokens, subtract(kl.penalty, surrogate)), bonus(tokens)),
        metrics: {
          ...kl.metrics,
          ...clipFractions(ratio, bounds, unitsAt(tokens, 'trajectory'), tokens.advantages),
        },
      }
    }
  },
})

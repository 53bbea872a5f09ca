import { numberSetting } from '#shared/config/settings.ts'
import { arithmetic } from './terms/differentiable.ts'
import {
  acceptanceAt,
  groupConflicts,
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
import { defineAlgorithm } from './define.ts'

const { add, multiply, sigmoid, subtract } = arithmetic

/** Soft Adaptive Policy Optimization: a gate that closes smoothly instead of a clip. Gao et al. 2025, arXiv:2511.20347, §3 and eq. 6. */
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
      description: 'How fast the gate closes if the advantage is positive: the higher, the closer to a clip.',
    }),
    negativeTemperature: numberSetting({
      default: 1.05,
      minimum: 0.01,
      description: 'The same for negative advantages; higher, because such tokens destabilise training more.',
    }),
    importanceSamplingLevel: ratioLevelSetting,
    ...groupSettings,
  },
  conflicts: groupConflicts,
  needs: groupNeeds,
  // A = (r − mean r) / std r, over the completions of one prompt.
  advantages: (batch, settings) =>
    groupAdvantages(batch, settings, settings.importanceSamplingLevel, ({ rewards, mean, deviation }) =>
      rewards.map((reward) => (reward - mean) / deviation),
    ),
  acceptance: (settings) => acceptanceAt(settings, settings.importanceSamplingLevel),
  loss(minibatch, settings) {
    const { positiveTemperature, negativeTemperature } = settings
    const average = normalizer(minibatch, settings.lossNorm)
    const threshold = entropyThreshold(minibatch, settings.topEntropyShare)
    const bonus = entropyBonus(minibatch, settings.entropyCoefficient, threshold)
    return (tokens) => {
      const ratio = importanceRatio(tokens, settings.importanceSamplingLevel) // ρ
      const kl = klTerm(tokens, ratio, settings)
      const A = add(tokens.advantages, kl.shaping)
      // (4/τ)·σ(τ(ρ − 1)), whose derivative at ρ = 1 is 1, as without a gate.
      const τ = A.data.map((advantage) => (advantage > 0 ? positiveTemperature : negativeTemperature))
      const gate = multiply(
        sigmoid(multiply(subtract(ratio, 1), τ)),
        τ.map((temperature) => 4 / temperature),
      )
      const gain = multiply(gate, A)
      const surrogate = whereLearning(tokens, gain, { ...settings, threshold })
      return {
        loss: add(average(tokens, subtract(kl.penalty, surrogate)), bonus(tokens)),
        metrics: kl.metrics,
      }
    }
  },
})

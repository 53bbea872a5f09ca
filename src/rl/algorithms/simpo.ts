import { numberSetting } from '#shared/config/settings.ts'
import { arithmetic } from './terms/differentiable.ts'
import { meanLogprobOf, pairLoss } from './terms/pairs.ts'
import { defineAlgorithm } from './define.ts'

const { logSigmoid, multiply, negative, subtract } = arithmetic

/**
 * Simple Preference Optimization: DPO with the log-probability per token in place of the log-ratio to a reference, and
 * a target margin. Meng et al. 2024, arXiv:2405.14734, eq. 6.
 */
export const simpo = defineAlgorithm({
  id: 'simpo',
  title: 'SimPO',
  description:
    'Learns from pairs of a preferred and a rejected answer, per token and without a reference model.',
  source: 'Meng et al. 2024, arXiv:2405.14734',
  experience: 'preferences',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    beta: numberSetting({
      default: 2,
      minimum: 0,
      description: 'β: scale of the log-probability per token; 2 to 2.5 is usual.',
    }),
    targetMargin: numberSetting({
      default: 1,
      minimum: 0,
      description:
        'γ: how far the implicit reward of the chosen answer should be above that of the rejected one; 0.3 to 0.8 of β is usual.',
    }),
    nllAlpha: numberSetting({
      default: 0,
      minimum: 0,
      description:
        'Weight of the chosen answers’ log-likelihood, which keeps them from becoming less likely; 0 is off.',
    }),
  },
  needs: () => ({ unit: 2 }),
  loss: (minibatch, settings) =>
    pairLoss(minibatch, settings, {
      scoreOf: meanLogprobOf,
      preference(chosen, rejected) {
        const margin = multiply(subtract(chosen.score, rejected.score), settings.beta)
        return negative(logSigmoid(subtract(margin, settings.targetMargin)))
      },
    }),
})

import { numberSetting } from '#shared/config/settings.ts'
import { arithmetic, type Value } from './terms/differentiable.ts'
import { meanLogprobOf, pairLoss } from './terms/pairs.ts'
import { defineAlgorithm } from './define.ts'

const { expm1, log, logSigmoid, minimum, multiply, negative, subtract } = arithmetic

/**
 * Odds Ratio Preference Optimization: the likelihood of the chosen answers, and the odds that they have over the
 * rejected ones, without a reference. Hong et al. 2024, arXiv:2403.07691, eq. 6.
 */
export const orpo = defineAlgorithm({
  id: 'orpo',
  title: 'ORPO',
  description:
    'Imitates the preferred answers of pairs and makes the rejected ones less likely, without a reference model.',
  source: 'Hong et al. 2024, arXiv:2403.07691',
  experience: 'preferences',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    beta: numberSetting({
      default: 0.1,
      minimum: 0,
      description: 'Weight of the odds ratio beside the likelihood of the chosen answers; λ of the paper.',
    }),
  },
  needs: () => ({ unit: 2 }),
  loss: (minibatch, { beta }) =>
    pairLoss(
      minibatch,
      { beta, nllAlpha: 1 },
      {
        scoreOf: meanLogprobOf,
        // Eq. 7: −log σ(log odds(chosen) − log odds(rejected)).
        preference: (chosen, rejected) =>
          multiply(negative(logSigmoid(subtract(logOdds(chosen.score), logOdds(rejected.score)))), beta),
      },
    ),
})

/** Log-probability above which an answer counts as certain; its odds would be infinite at 0. */
const CERTAIN = -1e-8

/** log P/(1 − P) of a log-probability, eq. 4. */
function logOdds(certainty: Value): Value {
  const logp = minimum(certainty, CERTAIN)
  return subtract(logp, log(negative(expm1(logp))))
}

import { choiceSetting, numberSetting } from '#shared/config/settings.ts'
import { arithmetic, type Value } from './terms/differentiable.ts'
import { type Answer, logRatioOf, pairLoss } from './terms/pairs.ts'
import { defineAlgorithm } from './define.ts'

const { add, logSigmoid, maximum, multiply, negative, sigmoid, square, subtract } = arithmetic

/** −log σ(x) */
const cost = (x: Value): Value => negative(logSigmoid(x))

/** Forms and names of the losses as in TRL's DPO trainer. */
const preferenceLossNames = [
  'sigmoid',
  'hinge',
  'ipo',
  'robust',
  'conservative',
  'exo',
  'sppo',
  'apo-zero',
  'apo-down',
] as const
export type PreferenceLossName = (typeof preferenceLossNames)[number]

/** Losses that assume label noise. */
export const smoothedLosses: readonly PreferenceLossName[] = ['robust', 'conservative', 'exo']

interface PreferenceSettings {
  readonly loss: PreferenceLossName
  readonly beta: number
  /** ε: assumed share of swapped pairs. */
  readonly labelSmoothing: number
}

/**
 * Direct Preference Optimization: raises the chosen answer's likelihood over the rejected one's, relative to the
 * reference policy. Rafailov et al. 2023, arXiv:2305.18290; its other losses are below; the likelihood term: Pang et
 * al. 2024, arXiv:2404.19733, here per token of the minibatch.
 */
export const dpo = defineAlgorithm({
  id: 'dpo',
  title: 'DPO',
  description: 'Learns from pairs of a preferred and a rejected answer, without rewards.',
  source: 'Rafailov et al. 2023, arXiv:2305.18290',
  experience: 'preferences',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    loss: choiceSetting(
      preferenceLossNames,
      'sigmoid',
      'Loss of a pair: sigmoid is DPO itself; robust, conservative and exo assume noisy labels.',
    ),
    beta: numberSetting({
      default: 0.1,
      minimum: 0,
      description: 'β: the larger, the closer the policy stays to the reference.',
    }),
    nllAlpha: numberSetting({
      default: 1,
      minimum: 0,
      description:
        'Weight of the chosen answers’ log-likelihood, which keeps them from becoming less likely; 0 is off.',
    }),
    labelSmoothing: numberSetting({
      default: 0,
      minimum: 0,
      maximum: 0.5,
      description: 'Assumed share of swapped pairs, for the losses robust, conservative and exo.',
    }),
  },
  conflicts: preferenceConflicts,
  needs: () => ({ reference: true, unit: 2 }),
  loss: (minibatch, settings) =>
    pairLoss(minibatch, settings, {
      scoreOf: logRatioOf,
      preference: (chosen, rejected) =>
        forms[settings.loss]({ chosen, rejected, beta: settings.beta, smoothing: settings.labelSmoothing }),
    }),
})

/** Answers are scored by their log-ratio to the reference. */
interface Pair {
  readonly chosen: Answer
  readonly rejected: Answer
  readonly beta: number
  readonly smoothing: number
}

/** [1] */
type PairForm = (pair: Pair) => Value

/** A loss of the margin Δ = β·(chosen − rejected) alone. */
const ofMargin =
  (form: (margin: Value, smoothing: number) => Value): PairForm =>
  ({ chosen, rejected, beta, smoothing }) =>
    form(multiply(subtract(chosen.score, rejected.score), beta), smoothing)

const forms: Readonly<Record<PreferenceLossName, PairForm>> = {
  // Rafailov et al. 2023, arXiv:2305.18290, eq. 7.
  sigmoid: ofMargin(cost),
  // Zhao et al. 2023, arXiv:2305.10425, eq. 3, as DPO uses it.
  hinge: ofMargin((x) => maximum(0, subtract(1, x))),
  // Azar et al. 2023, arXiv:2310.12036, eq. 17, per token.
  ipo({ chosen, rejected, beta }) {
    const perToken = ({ score, tokens }: Answer) => multiply(score, 1 / Math.max(tokens, 1))
    return square(subtract(subtract(perToken(chosen), perToken(rejected)), 1 / (2 * beta)))
  },
  // Chowdhury et al. 2024, arXiv:2403.00409, eq. 13: unbiased under flipped labels.
  robust: ofMargin((x, e) =>
    multiply(subtract(multiply(cost(x), 1 - e), multiply(cost(negative(x)), e)), 1 / (1 - 2 * e)),
  ),
  // Mitchell 2023, "A note on DPO with noisy preferences".
  conservative: ofMargin((x, e) => add(multiply(cost(x), 1 - e), multiply(cost(negative(x)), e))),
  // Ji et al. 2024, arXiv:2402.00856, eq. 16: KL of the policy’s preference from the smoothed label.
  exo: ofMargin((x, e) => {
    const won = subtract(negative(cost(x)), Math.log1p(-e))
    const lost = subtract(negative(cost(negative(x))), Math.log(e))
    return add(multiply(sigmoid(x), won), multiply(sigmoid(negative(x)), lost))
  }),
  // Wu et al. 2024, arXiv:2405.00675, eq. 4.7, with certain preferences.
  sppo: ({ chosen, rejected, beta }) =>
    add(square(subtract(chosen.score, 0.5 / beta)), square(add(rejected.score, 0.5 / beta))),
  // D'Oosterlinck et al. 2024, arXiv:2408.06266, eq. 7: chosen up, rejected down.
  'apo-zero': ({ chosen, rejected, beta }) =>
    add(sigmoid(multiply(chosen.score, -beta)), sigmoid(multiply(rejected.score, beta))),
  // The same, eq. 8: both down, rejected more.
  'apo-down': ({ chosen, rejected, beta }) =>
    add(
      sigmoid(multiply(chosen.score, beta)),
      sigmoid(multiply(subtract(chosen.score, rejected.score), -beta)),
    ),
}

/** Settings that a loss requires or ignores; one sentence each. */
function preferenceConflicts({
  loss,
  beta,
  labelSmoothing,
}: PreferenceSettings): [setting: string, message: string][] {
  const problems: [setting: string, message: string][] = []
  if (labelSmoothing !== 0 && !smoothedLosses.includes(loss)) {
    problems.push([
      'labelSmoothing',
      `the loss ${loss} does not use it; ${smoothedLosses.join(', ')} do (conservative is sigmoid with label smoothing).`,
    ])
  }
  if (loss === 'exo' && labelSmoothing === 0)
    problems.push(['labelSmoothing', 'the loss exo is infinite without it; 0.001 is usual.'])
  if (loss === 'robust' && labelSmoothing === 0.5)
    problems.push(['labelSmoothing', 'the loss robust needs less than 0.5.'])
  if (beta === 0 && (loss === 'ipo' || loss === 'sppo'))
    problems.push(['beta', `the loss ${loss} aims at 1/(2β), so β must be above 0.`])
  return problems
}

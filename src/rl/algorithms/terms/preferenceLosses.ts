/** What one pair of a chosen and a rejected answer costs; forms and names of options as in TRL's DPO trainer. */
import {
  add,
  logSigmoid,
  maximum,
  multiply,
  negative,
  sigmoid,
  square,
  subtract,
  type Value,
} from './differentiable.ts'

export const preferenceLossNames = [
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

/** Those that know labels to be wrong at times. */
export const smoothedLosses: readonly PreferenceLossName[] = ['robust', 'conservative', 'exo']

export interface PreferenceSettings {
  readonly loss: PreferenceLossName
  readonly beta: number
  /** ε: share of pairs taken to be the wrong way round. */
  readonly labelSmoothing: number
}

/** One answer: log-probability less the reference's ([1], nats), and its tokens. */
export interface Answer {
  readonly logRatio: Value
  readonly tokens: number
}

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
    form(multiply(subtract(chosen.logRatio, rejected.logRatio), beta), smoothing)

/** −log σ(x) */
const cost = (x: Value): Value => negative(logSigmoid(x))

const forms: Readonly<Record<PreferenceLossName, PairForm>> = {
  // Rafailov et al. 2023, arXiv:2305.18290, eq. 7.
  sigmoid: ofMargin(cost),
  // Zhao et al. 2023, arXiv:2305.10425, eq. 3, as DPO uses it.
  hinge: ofMargin((x) => maximum(0, subtract(1, x))),
  // Azar et al. 2023, arXiv:2310.12036, eq. 17, per token.
  ipo({ chosen, rejected, beta }) {
    const perToken = ({ logRatio, tokens }: Answer) => multiply(logRatio, 1 / Math.max(tokens, 1))
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
    const won = subtract(logSigmoid(x), Math.log1p(-e))
    const lost = subtract(logSigmoid(negative(x)), Math.log(e))
    return add(multiply(sigmoid(x), won), multiply(sigmoid(negative(x)), lost))
  }),
  // Wu et al. 2024, arXiv:2405.00675, eq. 4.7, with certain preferences.
  sppo: ({ chosen, rejected, beta }) =>
    add(square(subtract(chosen.logRatio, 0.5 / beta)), square(add(rejected.logRatio, 0.5 / beta))),
  // D'Oosterlinck et al. 2024, arXiv:2408.06266, eq. 7: chosen up, rejected down.
  'apo-zero': ({ chosen, rejected, beta }) =>
    add(sigmoid(multiply(chosen.logRatio, -beta)), sigmoid(multiply(rejected.logRatio, beta))),
  // The same, eq. 8: both down, rejected more.
  'apo-down': ({ chosen, rejected, beta }) =>
    add(
      sigmoid(multiply(chosen.logRatio, beta)),
      sigmoid(multiply(subtract(chosen.logRatio, rejected.logRatio), -beta)),
    ),
}

export const preferenceLoss = (
  chosen: Answer,
  rejected: Answer,
  { loss, beta, labelSmoothing }: PreferenceSettings,
): Value => forms[loss]({ chosen, rejected, beta, smoothing: labelSmoothing })

/** Settings without which a loss is not defined, or which it does not look at; a sentence each. */
export function preferenceConflicts({ loss, beta, labelSmoothing }: PreferenceSettings): string[] {
  const problems: string[] = []
  if (labelSmoothing !== 0 && !smoothedLosses.includes(loss)) {
    problems.push(
      `labelSmoothing: the loss ${loss} does not use it; ${smoothedLosses.join(', ')} do, and conservative is what it means for sigmoid.`,
    )
  }
  if (loss === 'exo' && labelSmoothing === 0)
    problems.push('labelSmoothing: the loss exo is infinite without it; 0.001 is usual.')
  if (loss === 'robust' && labelSmoothing === 0.5)
    problems.push('labelSmoothing: the loss robust needs less than 0.5.')
  if (beta === 0 && (loss === 'ipo' || loss === 'sppo'))
    problems.push(`beta: the loss ${loss} aims at 1/(2β), so β must be above 0.`)
  return problems
}

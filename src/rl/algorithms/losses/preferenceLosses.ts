/** What one pair of a chosen and a rejected answer costs; forms and names of options as in TRL's DPO trainer. */

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

/** One answer: log-probability less the reference's, in nats, and its tokens. */
export interface AnswerGain {
  readonly logRatio: number
  readonly tokens: number
}

export interface PreferenceLoss {
  readonly value: number
  /** ∂value/∂log-ratio of each answer. */
  readonly chosenSlope: number
  readonly rejectedSlope: number
}

interface Pair {
  readonly chosen: AnswerGain
  readonly rejected: AnswerGain
  readonly beta: number
  readonly smoothing: number
}

type PairForm = (pair: Pair) => PreferenceLoss

/** A loss of the margin Δ = β·(chosen − rejected) alone: its value and ∂value/∂Δ. */
const ofMargin =
  (form: (margin: number, smoothing: number) => readonly [value: number, slope: number]): PairForm =>
  ({ chosen, rejected, beta, smoothing }) => {
    const [value, slope] = form(beta * (chosen.logRatio - rejected.logRatio), smoothing)
    return { value, chosenSlope: beta * slope, rejectedSlope: -beta * slope }
  }

const forms: Readonly<Record<PreferenceLossName, PairForm>> = {
  // Rafailov et al. 2023, arXiv:2305.18290, eq. 7.
  sigmoid: ofMargin((x) => [-logSigmoid(x), -sigmoid(-x)]),
  // Zhao et al. 2023, arXiv:2305.10425, eq. 3, as DPO uses it.
  hinge: ofMargin((x) => [Math.max(0, 1 - x), x < 1 ? -1 : 0]),
  // Azar et al. 2023, arXiv:2310.12036, eq. 17, per token.
  ipo({ chosen, rejected, beta }) {
    const [ours, theirs] = [Math.max(chosen.tokens, 1), Math.max(rejected.tokens, 1)]
    const gap = chosen.logRatio / ours - rejected.logRatio / theirs - 1 / (2 * beta)
    return { value: gap ** 2, chosenSlope: (2 * gap) / ours, rejectedSlope: (-2 * gap) / theirs }
  },
  // Chowdhury et al. 2024, arXiv:2403.00409, eq. 13: unbiased under flipped labels.
  robust: ofMargin((x, e) => [
    (-(1 - e) * logSigmoid(x) + e * logSigmoid(-x)) / (1 - 2 * e),
    (-(1 - e) * sigmoid(-x) - e * sigmoid(x)) / (1 - 2 * e),
  ]),
  // Mitchell 2023, "A note on DPO with noisy preferences".
  conservative: ofMargin((x, e) => [
    -(1 - e) * logSigmoid(x) - e * logSigmoid(-x),
    -(1 - e) * sigmoid(-x) + e * sigmoid(x),
  ]),
  // Ji et al. 2024, arXiv:2402.00856, eq. 16: KL of the policy’s preference from the smoothed label.
  exo: ofMargin((x, e) => {
    const [won, lost] = [logSigmoid(x) - Math.log1p(-e), logSigmoid(-x) - Math.log(e)]
    return [sigmoid(x) * won + sigmoid(-x) * lost, sigmoid(x) * sigmoid(-x) * (won - lost)]
  }),
  // Wu et al. 2024, arXiv:2405.00675, eq. 4.7, with certain preferences.
  sppo({ chosen, rejected, beta }) {
    const [won, lost] = [chosen.logRatio - 0.5 / beta, rejected.logRatio + 0.5 / beta]
    return { value: won ** 2 + lost ** 2, chosenSlope: 2 * won, rejectedSlope: 2 * lost }
  },
  // D'Oosterlinck et al. 2024, arXiv:2408.06266, eq. 7: chosen up, rejected down.
  'apo-zero': ({ chosen, rejected, beta }) => ({
    value: sigmoid(-beta * chosen.logRatio) + sigmoid(beta * rejected.logRatio),
    chosenSlope: -beta * bump(beta * chosen.logRatio),
    rejectedSlope: beta * bump(beta * rejected.logRatio),
  }),
  // The same, eq. 8: both down, rejected more.
  'apo-down'({ chosen, rejected, beta }) {
    const margin = beta * (chosen.logRatio - rejected.logRatio)
    return {
      value: sigmoid(beta * chosen.logRatio) + sigmoid(-margin),
      chosenSlope: beta * (bump(beta * chosen.logRatio) - bump(margin)),
      rejectedSlope: beta * bump(margin),
    }
  },
}

export const preferenceLoss = (
  chosen: AnswerGain,
  rejected: AnswerGain,
  { loss, beta, labelSmoothing }: PreferenceSettings,
): PreferenceLoss => forms[loss]({ chosen, rejected, beta, smoothing: labelSmoothing })

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

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** σ′ */
const bump = (x: number): number => sigmoid(x) * sigmoid(-x)

/** log σ(x) without overflow at either end. */
const logSigmoid = (x: number): number => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))

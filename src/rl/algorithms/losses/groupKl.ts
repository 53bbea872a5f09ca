/** The divergence from the reference policy in the losses of the GRPO family: a term of its own, or part of the advantage. */
import type { LossRow } from '../types.ts'
import { actionCount, sumOverActions } from '../common/actions.ts'
import { type KlSettings, type KlTerm, klTerm } from './kl.ts'

export interface GroupKlSettings extends KlSettings {
  /** β. */
  readonly klCoefficient: number
  /** The KL term moves the advantages, A + β·(mean KL of the trajectory − KL), instead of being added to the loss. */
  readonly klAdvantageShaping: boolean
  /**
   * The term is multiplied by the importance ratio, so that its gradient is unbiased for tokens of an older policy
   * (DeepSeek-AI 2025, arXiv:2512.02556, §3.1; TRL's and AgileRL's use_bias_correction_kl).
   */
  readonly klImportanceWeighting: boolean
}

export interface RowKl {
  /** Weight of the term in the loss where the ratio is ρ; 0 where it shapes the advantages. */
  readonly weightAt: (ratio: number) => number
  /** ∂weight/∂ρ */
  readonly weightSlope: number
  /** [T] what counts in the loss, and its slope; 0 beyond the clamp and outside the action mask. */
  readonly values: Float64Array
  readonly slopes: Float64Array
  /** What is added to the advantage of token t. */
  readonly shaping: (t: number) => number
  /** β where advantages are shaped, else 0. */
  readonly shapingCoefficient: number
  /** The estimate itself. */
  readonly at: (t: number) => KlTerm
}

const nothing: KlTerm = { value: 0, slope: 0, isClamped: false }

/** Zeros without a reference. */
export function klOfRow(row: LossRow, settings: GroupKlSettings): RowKl {
  const { logprobs, referenceLogprobs, actionMask } = row
  const terms = Array.from(actionMask, (isAction, t) =>
    isAction === 1 && referenceLogprobs !== null
      ? klTerm(logprobs[t]!, referenceLogprobs[t]!, settings)
      : nothing,
  )
  const shapingCoefficient = settings.klAdvantageShaping ? settings.klCoefficient : 0
  // A clamped token shapes at the bound.
  const shaped = Float64Array.from(terms, ({ value, isClamped }) => (isClamped ? settings.klClamp! : value))
  const meanKl = shapingCoefficient === 0 ? 0 : meanUnderMask(shaped, row)
  const coefficient = settings.klCoefficient - shapingCoefficient
  return {
    weightAt: (ratio) => coefficient * (settings.klImportanceWeighting ? ratio : 1),
    weightSlope: settings.klImportanceWeighting ? coefficient : 0,
    values: Float64Array.from(terms, ({ value, isClamped }) => (isClamped ? 0 : value)),
    slopes: Float64Array.from(terms, ({ slope, isClamped }) => (isClamped ? 0 : slope)),
    shaping: (t) => (shapingCoefficient === 0 ? 0 : shapingCoefficient * (meanKl - shaped[t]!)),
    shapingCoefficient,
    at: (t) => terms[t]!,
  }
}

/** A_t holds β·(mean KL − KL_t), so a token's KL moves its own advantage and, through the mean, all the others'. */
export function addShapingSlopes(
  slopes: Float64Array,
  advantageSlopes: Float64Array,
  kl: RowKl,
  row: LossRow,
): void {
  if (kl.shapingCoefficient === 0) return
  const meanSlope = meanUnderMask(advantageSlopes, row)
  row.actionMask.forEach((isAction, t) => {
    if (isAction === 1)
      slopes[t]! += kl.shapingCoefficient * kl.slopes[t]! * (meanSlope - advantageSlopes[t]!)
  })
}

const meanUnderMask = (values: Float64Array, row: LossRow): number =>
  sumOverActions(row, (t) => values[t]!) / Math.max(actionCount(row), 1)

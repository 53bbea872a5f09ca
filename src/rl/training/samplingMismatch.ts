/**
 * The sampler and the learner are two programs; with an int8 sampler their log-probabilities differ. The ratio between
 * them, capped, weighs each token's policy term (truncated importance sampling; Yao et al. 2025, "Your efficient RL
 * framework secretly brings you off-policy RL training").
 */
import { quantile } from '../algorithms/terms/groups.ts'

export interface AlignedLogprobs {
  /** [T] the sampler's where it recorded the row completely, else the learner's own. */
  readonly logprobs: Float64Array
  /** True if the record was missing or had the wrong length. */
  readonly skipped: boolean
}

/** Copies the sampler's flat record (action tokens only, in order) to the row's action positions. */
export function alignSamplerLogprobs(
  behaviorLogprobs: Float64Array,
  actionMask: Uint8Array,
  sampled: Float64Array | null,
): AlignedLogprobs {
  const actions = actionMask.reduce((count, isAction) => count + isAction, 0)
  if (sampled === null || sampled.length !== actions)
    return { logprobs: behaviorLogprobs.slice(), skipped: true }
  let next = 0
  return {
    logprobs: behaviorLogprobs.map((logprob, t) => {
      if (actionMask[t] !== 1) return logprob
      const recorded = sampled[next++]!
      return Number.isFinite(recorded) ? recorded : 0
    }),
    skipped: false,
  }
}

export interface WeightLimit {
  readonly cap: number
  /** Replacement of a weight above the cap: the cap, or 0. */
  readonly mode: 'truncate' | 'mask'
}

/**
 * [T] weight of each token: e^(behaviour − sampler), limited; 1 outside the action mask. A constant in the loss. With it the
 * loss is the decoupled objective (Hilton et al. 2021, arXiv:2110.00641, eq. 5; AReaL: Fu et al. 2025, arXiv:2505.24298,
 * eq. 5): the sampler is the behaviour policy there, and ours, from which the clipped ratio is measured, the proximal one.
 */
export function correctionWeights(row: MismatchRow, limit: WeightLimit): Float64Array {
  return row.behaviorLogprobs.map((_, t) => (row.actionMask[t] === 1 ? limited(ratioAt(row, t), limit) : 1))
}

const ratioAt = ({ behaviorLogprobs, samplerLogprobs }: MismatchRow, t: number): number =>
  Math.exp(behaviorLogprobs[t]! - samplerLogprobs[t]!)

const limited = (ratio: number, { cap, mode }: WeightLimit): number =>
  ratio <= cap ? ratio : mode === 'mask' ? 0 : cap

export interface MismatchRow {
  readonly behaviorLogprobs: Float64Array
  readonly samplerLogprobs: Float64Array
  readonly actionMask: Uint8Array
}

/** Over every action token of the batch. Ratios are those that are used; differences are absolute, in nats. */
export interface MismatchSummary {
  readonly differenceMean: number
  readonly differenceMax: number
  readonly ratioMin: number
  readonly ratioMean: number
  /** 95th percentile. */
  readonly ratioHigh: number
  /** Share of tokens at or above the cap. */
  readonly cappedShare: number
}

/** Summary of the mismatch; null without an action token. */
export function summarizeMismatch(rows: readonly MismatchRow[], limit: WeightLimit): MismatchSummary | null {
  const differences: number[] = []
  const ratios: number[] = []
  let capped = 0
  for (const row of rows) {
    const weights = correctionWeights(row, limit)
    row.actionMask.forEach((isAction, t) => {
      if (isAction !== 1) return
      differences.push(Math.abs(row.behaviorLogprobs[t]! - row.samplerLogprobs[t]!))
      ratios.push(weights[t]!)
      if (ratioAt(row, t) >= limit.cap) capped += 1
    })
  }
  if (ratios.length === 0) return null
  const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  return {
    differenceMean: average(differences),
    differenceMax: differences.reduce((a, b) => Math.max(a, b), 0),
    ratioMin: ratios.reduce((a, b) => Math.min(a, b), Infinity),
    ratioMean: average(ratios),
    ratioHigh: quantile(ratios, 0.95),
    cappedShare: capped / ratios.length,
  }
}

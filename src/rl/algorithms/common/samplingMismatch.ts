/**
 * The sampler and the learner are two programs; with an int8 sampler their log-probabilities differ. The ratio between
 * them, capped, weighs each token's policy term (truncated importance sampling; Yao et al. 2025, "Your efficient RL
 * framework secretly brings you off-policy RL training").
 */
import { quantile } from './statistics.ts'

export interface AlignedLogprobs {
  /** [T] the sampler's where it recorded the row completely, else the learner's own. */
  readonly logprobs: Float64Array
  /** The record was missing or had the wrong count. */
  readonly skipped: boolean
}

/** Lays the sampler's flat record (action tokens only, in order) onto the row's action positions. */
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

/** [T] weight of each token: min(e^(behaviour − sampler), cap); 1 outside the action mask. A constant in the loss. */
export function correctionWeights(
  behaviorLogprobs: Float64Array,
  samplerLogprobs: Float64Array,
  actionMask: Uint8Array,
  cap: number,
): Float64Array {
  return behaviorLogprobs.map((logprob, t) =>
    actionMask[t] === 1 ? Math.min(Math.exp(logprob - samplerLogprobs[t]!), cap) : 1,
  )
}

export interface MismatchRow {
  readonly behaviorLogprobs: Float64Array
  readonly samplerLogprobs: Float64Array
  readonly actionMask: Uint8Array
}

/** Over every action token of the batch. Ratios are capped; differences are absolute, in nats. */
export interface MismatchSummary {
  readonly differenceMean: number
  readonly differenceMax: number
  readonly ratioMin: number
  readonly ratioMean: number
  /** 95th percentile. */
  readonly ratioHigh: number
  /** Share of tokens at the cap. */
  readonly cappedShare: number
}

/** Summary of the gap; null without an action token. */
export function summarizeMismatch(rows: readonly MismatchRow[], cap: number): MismatchSummary | null {
  const differences: number[] = []
  const ratios: number[] = []
  for (const { behaviorLogprobs, samplerLogprobs, actionMask } of rows) {
    const weights = correctionWeights(behaviorLogprobs, samplerLogprobs, actionMask, cap)
    actionMask.forEach((isAction, t) => {
      if (isAction !== 1) return
      differences.push(Math.abs(behaviorLogprobs[t]! - samplerLogprobs[t]!))
      ratios.push(weights[t]!)
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
    cappedShare: ratios.filter((ratio) => ratio >= cap).length / ratios.length,
  }
}

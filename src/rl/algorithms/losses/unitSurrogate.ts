/**
 * The clipped surrogate of REINFORCE, PPO and RLOO: the mean over units of max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017,
 * arXiv:1707.06347, eq. 7). A unit is a token, a turn or a trajectory; every unit of the minibatch weighs the same,
 * however many tokens it has. (The GRPO family weighs tokens instead: groupLoss.ts.)
 */
import type { LearningRow, LossRow } from '../types.ts'
import { type ClipBounds, clippedSurrogate } from './clipping.ts'
import type { LossTerm, TermShare } from './lossTerm.ts'
import { type RatioLevel, unitsOf } from '../common/units.ts'

export interface UnitSurrogateSettings {
  readonly level: RatioLevel
  /** How the log-ratios of a unit's tokens become one. */
  readonly pooling: 'sum' | 'mean'
  readonly bounds: ClipBounds
}

/** Fixes the weight of a unit from the whole minibatch; answers row by row. */
export function unitSurrogate(minibatch: readonly LearningRow[], settings: UnitSurrogateSettings): LossTerm {
  const units = minibatch.reduce((sum, row) => sum + unitsOf(row, settings.level).length, 0)
  return (row) => rowSurrogate(row, 1 / Math.max(units, 1), settings)
}

function rowSurrogate(row: LossRow, weight: number, settings: UnitSurrogateSettings): TermShare {
  const slopes = new Float64Array(row.logprobs.length)
  const units = unitsOf(row, settings.level)
  let [loss, clipped] = [0, 0]
  for (const unit of units) {
    const divisor = settings.pooling === 'sum' ? 1 : unit.length
    const ratio = Math.exp(sumOver(unit, (t) => row.logprobs[t]! - row.behaviorLogprobs[t]!) / divisor) // ρ
    const advantage = sumOver(unit, (t) => row.advantages[t]!) / unit.length
    const correction = sumOver(unit, (t) => row.correction?.[t] ?? 1) / unit.length
    const surrogate = clippedSurrogate(ratio, advantage, settings.bounds)
    loss += correction * surrogate.value
    if (surrogate.isOutside) clipped += 1
    // ∂ρ/∂logprob = ρ / divisor
    for (const t of unit) slopes[t] = (weight * correction * surrogate.ratioSlope * ratio) / divisor
  }
  const count = units.length
  return {
    loss: weight * loss,
    logprobs: slopes,
    tallies: { policy_loss: { sum: loss, count }, 'clip_ratio/region_mean': { sum: clipped, count } },
  }
}

const sumOver = (positions: readonly number[], value: (t: number) => number): number =>
  positions.reduce((sum, t) => sum + value(t), 0)

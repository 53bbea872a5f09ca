/**
 * The clipped surrogate of REINFORCE and PPO: the mean over units of max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017,
 * arXiv:1707.06347, eq. 7). A unit is a token, a turn or a trajectory; every unit of the minibatch weighs the same,
 * however many tokens it has. (The GRPO family weighs tokens instead: groupLoss.ts.)
 */
import type { LearningRow, LossRow } from '../types.ts'
import { clip, type ClipBounds } from './clipping.ts'
import type { Tally } from './tally.ts'
import { type RatioLevel, unitsOf } from './units.ts'

export interface UnitSurrogateSettings {
  readonly level: RatioLevel
  /** How the log-ratios of a turn's tokens become one; a trajectory's are always averaged. */
  readonly turnRatioPooling: 'sum' | 'mean'
  readonly bounds: ClipBounds
}

export interface RowSurrogate {
  readonly loss: number
  /** [T] ∂loss/∂logprob */
  readonly slopes: Float64Array
  /** Of the units: their losses before weighting, and how many were clipped. */
  readonly losses: Tally
  readonly clipped: Tally
}

/** Fixes the weight of a unit from the whole minibatch; answers row by row. */
export function unitSurrogate(
  minibatch: readonly LearningRow[],
  settings: UnitSurrogateSettings,
): (row: LossRow) => RowSurrogate {
  const units = minibatch.reduce((sum, row) => sum + unitsOf(row, settings.level).length, 0)
  return (row) => rowSurrogate(row, 1 / units, settings)
}

function rowSurrogate(row: LossRow, weight: number, settings: UnitSurrogateSettings): RowSurrogate {
  const slopes = new Float64Array(row.logprobs.length)
  const units = unitsOf(row, settings.level)
  let [loss, clipped] = [0, 0]
  for (const unit of units) {
    const divisor = settings.level === 'turn' && settings.turnRatioPooling === 'sum' ? 1 : unit.length
    const ratio = Math.exp(sumOver(unit, (t) => row.logprobs[t]! - row.behaviorLogprobs[t]!) / divisor) // ρ
    const advantage = sumOver(unit, (t) => row.advantages[t]!) / unit.length
    const correction = sumOver(unit, (t) => row.correction?.[t] ?? 1) / unit.length
    const limited = clip(ratio, settings.bounds)
    const isSilenced = -limited * advantage > -ratio * advantage
    loss += correction * -(isSilenced ? limited : ratio) * advantage
    if (limited !== ratio) clipped += 1
    // ∂ρ/∂logprob = ρ / divisor
    if (!isSilenced) for (const t of unit) slopes[t] = (weight * correction * -advantage * ratio) / divisor
  }
  const count = units.length
  return { loss: weight * loss, slopes, losses: { sum: loss, count }, clipped: { sum: clipped, count } }
}

const sumOver = (positions: readonly number[], value: (t: number) => number): number =>
  positions.reduce((sum, t) => sum + value(t), 0)

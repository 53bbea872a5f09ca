/**
 * The critic's loss: the larger of the squared errors with and without the step from the old value limited to ±c
 * (Schulman et al. 2017, arXiv:1707.06347, in the form of its reference implementation). A unit is a token or a turn;
 * every unit of the minibatch weighs the same.
 */
import type { LearningRow, LossRow } from '../types.ts'
import type { LossTerm, TermShare } from './lossTerm.ts'
import type { ReturnGranularity } from '../common/turns.ts'
import { unitsOf } from '../common/units.ts'

export interface ValueLossSettings {
  readonly granularity: ReturnGranularity
  /** Which of a turn's values is the value of the turn. */
  readonly reduction: 'mean' | 'final-value'
  readonly coefficient: number
  /** c. */
  readonly clipCoefficient: number
}

/** coefficient / 2 · mean over units; needs `values`, `behaviorValues` and `returns`. */
export function valueLoss(minibatch: readonly LearningRow[], settings: ValueLossSettings): LossTerm {
  const units = minibatch.reduce((sum, row) => sum + unitsOf(row, settings.granularity).length, 0)
  return (row) => rowValueLoss(row, 1 / Math.max(units, 1), settings)
}

function rowValueLoss(row: LossRow, weight: number, settings: ValueLossSettings): TermShare {
  const { values, behaviorValues, returns } = row
  if (values === null || behaviorValues === null || returns === null) {
    throw new Error('Expected values and returns of every row.')
  }
  const slopes = new Float64Array(values.length)
  const units = unitsOf(row, settings.granularity)
  let sum = 0
  for (const unit of units) {
    const read = settings.reduction === 'mean' ? unit : unit.slice(-1)
    const error = valueError(averageAt(values, read), averageAt(behaviorValues, read), {
      target: averageAt(returns, unit),
      limit: settings.clipCoefficient,
    })
    sum += (settings.coefficient / 2) * error.value
    for (const t of read) slopes[t] = (weight * (settings.coefficient / 2) * error.slope) / read.length
  }
  return { loss: weight * sum, values: slopes, tallies: { value_loss: { sum, count: units.length } } }
}

/** Larger squared error and its slope ∂/∂value. */
function valueError(
  value: number,
  before: number,
  { target, limit }: { readonly target: number; readonly limit: number },
): { value: number; slope: number } {
  const error = (target - value) ** 2
  // Asked of the step and not of the limited value: where the two are the same but for rounding, the slope counts.
  if (Math.abs(value - before) > limit) {
    const limited = before + Math.sign(value - before) * limit
    if ((target - limited) ** 2 > error) return { value: (target - limited) ** 2, slope: 0 }
  }
  return { value: error, slope: 2 * (value - target) }
}

const averageAt = (values: Float64Array, positions: readonly number[]): number =>
  positions.reduce((sum, t) => sum + values[t]!, 0) / positions.length

/**
 * Terms of the losses outside the GRPO family: means over units. A unit is a token, a turn or a trajectory, and every
 * unit of the minibatch has the same weight, however many tokens it has. (The GRPO family weights tokens:
 * policyTerms.ts.)
 */
import { choiceSetting, numberSetting } from '#shared/config/settings.ts'
import type { LearningRow } from '../types.ts'
import { arithmetic, pool, sum, type Value, where } from './differentiable.ts'
import type { KlEstimatorSettings, RatioLevel } from './groupSettings.ts'
import { type Tokens, unitsAt } from './loss.ts'
import { klDivergence } from './policyTerms.ts'
import { actionTotal } from './turns.ts'
import { klTallies } from './metrics.ts'
import type { Tallies } from './tally.ts'

const { exp, multiply, subtract } = arithmetic

export const symmetricClip = numberSetting({
  default: 0.2,
  minimum: 0,
  description: 'How far the importance ratio may move from 1.',
})

export const turnRatioPoolingSetting = choiceSetting(
  ['sum', 'mean'],
  'sum',
  'How the log-ratios of a turn’s tokens become one.',
)

/** A trajectory's log-ratios are averaged, however those of a turn are combined. */
export const poolingAt = (level: RatioLevel, turnRatioPooling: 'sum' | 'mean'): 'sum' | 'mean' =>
  level === 'turn' ? turnRatioPooling : 'mean'

/** The parts of the clipped surrogate, [units] each. */
export interface UnitRatios {
  /** ρ, the exponential of the log-ratios of the unit's tokens, pooled. */
  readonly ratio: Value
  readonly advantages: Value
  readonly correction: Value | number
}

export function unitRatios(tokens: Tokens, level: RatioLevel, pooling: 'sum' | 'mean'): UnitRatios {
  const units = unitsAt(tokens, level)
  return {
    ratio: exp(pool(subtract(tokens.logp, tokens.oldLogp), units, pooling)),
    advantages: pool(tokens.advantages, units, 'mean'),
    correction: tokens.correction === null ? 1 : pool(tokens.correction, units, 'mean'),
  }
}

/** The sum over units divided by their number in the minibatch. x: [units]; returns [1]. */
export function unitMean(minibatch: readonly LearningRow[], level: RatioLevel): (x: Value) => Value {
  const count = minibatch.reduce((total, row) => total + unitCount(row, level), 0)
  return (x) => multiply(sum(x), 1 / Math.max(count, 1))
}

function unitCount({ actionMask, turnIds }: LearningRow, level: RatioLevel): number {
  if (level === 'token') return actionTotal([{ actionMask }])
  if (level === 'trajectory' || turnIds === null) return Number(actionMask.includes(1))
  return new Set(turnIds.filter((_, t) => actionMask[t] === 1)).size
}

/** β · mean KL over the tokens of the minibatch. */
export function klPenalty(
  minibatch: readonly LearningRow[],
  β: number,
  settings: KlEstimatorSettings,
): (tokens: Tokens) => { readonly loss: Value | number; readonly metrics: Tallies } {
  const count = Math.max(actionTotal(minibatch), 1)
  return ({ logp, refLogp }) => {
    if (refLogp === null) return { loss: 0, metrics: {} }
    const { kl, clamped } = klDivergence({ logp, refLogp }, settings)
    const loss = multiply(sum(where(clamped, 0, kl)), β / count)
    return { loss, metrics: klTallies(kl, clamped, settings.klClamp) }
  }
}

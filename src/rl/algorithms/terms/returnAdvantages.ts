/**
 * Returns standardised over the whole batch (ReBN). The divergence from the reference policy is subtracted from the
 * rewards, β·(behaviour − reference log-probability) per token, and is no term of the loss.
 */
import type { Advantages, Experience } from '../types.ts'
import { type RewardPlacement, rewardTokens } from './rewards.ts'
import { standardized } from './statistics.ts'
import {
  poolByTurns,
  resolveAdvantageGranularity,
  spreadOverTurns,
  turnCount,
  turnOfTokens,
} from './turns.ts'

export interface ReturnAdvantageSettings {
  /** γ: discount from turn to turn, or from token to token. */
  readonly discount: number
  readonly granularity: 'auto' | 'token' | 'turn'
  readonly rewardPlacement: RewardPlacement
  /** β. */
  readonly klCoefficient: number
}

export function returnAdvantages(
  batch: readonly Experience[],
  settings: ReturnAdvantageSettings,
): Advantages {
  const turnIds = batch.map(turnOfTokens)
  const perTurn = resolveAdvantageGranularity(settings.granularity, turnIds) === 'turn'
  const returns = batch.map((row, i) =>
    perTurn ? turnReturns(row, turnIds[i]!, settings) : tokenReturns(row, turnIds[i]!, settings),
  )
  const isCell = (i: number, cell: number) => perTurn || turnIds[i]![cell]! >= 0
  const flat = standardized(returns.flatMap((row, i) => [...row].filter((_, cell) => isCell(i, cell))))
  let next = 0
  const cells = returns.map((row, i) => row.map((_, cell) => (isCell(i, cell) ? flat[next++]! : 0)))
  return {
    tokens: cells.map((row, i) => (perTurn ? spreadOverTurns(row, turnIds[i]!) : row)),
    returns: null,
    kept: batch.map((_, i) => i),
  }
}

/** [turns]: mean penalised reward of each turn plus the discounted return of the next one. */
function turnReturns(row: Experience, turnIds: Int32Array, settings: ReturnAdvantageSettings): Float64Array {
  const penalized = penalizedRewards(row, turnIds, { ...settings, rewardPlacement: 'every-token' })
  const returns = poolByTurns(penalized, turnIds, turnCount(turnIds), 'mean')
  for (let turn = returns.length - 2; turn >= 0; turn--)
    returns[turn]! += settings.discount * returns[turn + 1]!
  return returns
}

/** [T]: returns do not cross tokens the policy did not choose, so they end with the turn. */
function tokenReturns(row: Experience, turnIds: Int32Array, settings: ReturnAdvantageSettings): Float64Array {
  const returns = penalizedRewards(row, turnIds, settings)
  for (let t = returns.length - 2; t >= 0; t--) {
    if (turnIds[t]! >= 0 && turnIds[t + 1]! >= 0) returns[t]! += settings.discount * returns[t + 1]!
  }
  return returns
}

function penalizedRewards(
  row: Experience,
  turnIds: Int32Array,
  { rewardPlacement, klCoefficient }: ReturnAdvantageSettings,
): Float64Array {
  const rewards = rewardTokens(row, rewardPlacement)
  const { behaviorLogprobs, referenceLogprobs } = row
  if (klCoefficient === 0 || behaviorLogprobs === null || referenceLogprobs === null) return rewards
  return rewards.map((reward, t) =>
    turnIds[t]! < 0 ? 0 : reward - klCoefficient * (behaviorLogprobs[t]! - referenceLogprobs[t]!),
  )
}

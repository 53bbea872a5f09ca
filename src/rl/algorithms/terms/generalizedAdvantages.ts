/**
 * Generalised advantage estimation against a critic, over turns or over tokens. Schulman et al. 2016, arXiv:1506.02438,
 * eq. 16: δ_j = r_j + γ·V_{j+1} − V_j, A_j = δ_j + γλ·A_{j+1}. Nothing follows the last turn, also where the trajectory
 * was cut off; over tokens nothing follows the last token of a turn. Targets of the critic are A + V before whitening.
 */
import type { Advantages, Experience } from '../types.ts'
import { type RewardPlacement, rewardTokens } from './rewards.ts'
import { whitened } from './statistics.ts'
import {
  poolByTurns,
  resolveAdvantageGranularity,
  type ReturnGranularity,
  spreadOverTurns,
  turnCount,
  turnOfTokens,
} from './turns.ts'

export interface GeneralizedAdvantageSettings {
  /** γ. */
  readonly discount: number
  /** λ. */
  readonly gaeLambda: number
  readonly granularity: 'auto' | ReturnGranularity
  readonly turnValueReduction: 'mean' | 'final-value'
  readonly rewardPlacement: RewardPlacement
  /** Over the turns or tokens of the whole batch; fewer than two are left as they are. */
  readonly whitenAdvantages: boolean
}

/** Turns or tokens of one row. */
interface Cells {
  readonly advantages: Float64Array
  readonly returns: Float64Array
  readonly isActive: (cell: number) => boolean
}

export function generalizedAdvantages(
  batch: readonly Experience[],
  settings: GeneralizedAdvantageSettings,
): Advantages & { readonly granularity: ReturnGranularity } {
  const turnIds = batch.map(turnOfTokens)
  const granularity = resolveAdvantageGranularity(settings.granularity, turnIds)
  const rows = batch.map((row, i) =>
    granularity === 'turn' ? turnCells(row, turnIds[i]!, settings) : tokenCells(row, turnIds[i]!, settings),
  )
  const advantages = settings.whitenAdvantages
    ? whitenedCells(rows)
    : rows.map((row) => Float64Array.from(row.advantages))
  const onTokens = (cells: Float64Array, i: number) =>
    granularity === 'turn' ? spreadOverTurns(cells, turnIds[i]!) : cells
  return {
    tokens: advantages.map(onTokens),
    returns: rows.map(({ returns }, i) => onTokens(returns, i)),
    kept: batch.map((_, i) => i),
    granularity,
  }
}

function turnCells(row: Experience, turnIds: Int32Array, settings: GeneralizedAdvantageSettings): Cells {
  const turns = turnCount(turnIds)
  const rewards = poolByTurns(rewardTokens(row, 'every-token'), turnIds, turns, 'mean')
  const values = poolByTurns(valuesOf(row), turnIds, turns, settings.turnValueReduction)
  const advantages = new Float64Array(turns)
  for (let turn = turns - 1; turn >= 0; turn--) {
    const next = turn + 1 < turns ? { value: values[turn + 1]!, advantage: advantages[turn + 1]! } : nothing
    advantages[turn] = advantageOf(rewards[turn]!, values[turn]!, next, settings)
  }
  const returns = advantages.map((advantage, turn) => advantage + values[turn]!)
  return { advantages, returns, isActive: (turn) => turnIds.includes(turn) }
}

function tokenCells(row: Experience, turnIds: Int32Array, settings: GeneralizedAdvantageSettings): Cells {
  const rewards = rewardTokens(row, settings.rewardPlacement)
  const values = valuesOf(row)
  const isActive = (t: number) => (turnIds[t] ?? -1) >= 0
  const advantages = new Float64Array(turnIds.length)
  for (let t = turnIds.length - 1; t >= 0; t--) {
    if (!isActive(t)) continue
    const next = isActive(t + 1) ? { value: values[t + 1]!, advantage: advantages[t + 1]! } : nothing
    advantages[t] = advantageOf(rewards[t]!, values[t]!, next, settings)
  }
  const returns = advantages.map((advantage, t) => (isActive(t) ? advantage + values[t]! : 0))
  return { advantages, returns, isActive }
}

function valuesOf({ behaviorValues }: Experience): Float64Array {
  if (behaviorValues === null) throw new Error('Expected the critic’s values of every row.')
  return behaviorValues
}

interface Next {
  readonly value: number
  readonly advantage: number
}

const nothing: Next = { value: 0, advantage: 0 }

const advantageOf = (
  reward: number,
  value: number,
  next: Next,
  { discount, gaeLambda }: GeneralizedAdvantageSettings,
): number => reward + discount * next.value - value + discount * gaeLambda * next.advantage

function whitenedCells(rows: readonly Cells[]): Float64Array[] {
  const flat = whitened(
    rows.flatMap(({ advantages, isActive }) => [...advantages].filter((_, cell) => isActive(cell))),
  )
  let next = 0
  return rows.map(({ advantages, isActive }) =>
    advantages.map((_, cell) => (isActive(cell) ? flat[next++]! : 0)),
  )
}

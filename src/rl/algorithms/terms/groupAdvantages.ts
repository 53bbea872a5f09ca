/** Advantages relative to the other trajectories of the same prompt. */
import type { Advantages, Experience } from '../types.ts'
import { type GroupAdvantageSettings, granularityAt, type RatioLevel } from './groupSettings.ts'
import {
  hasNoSpread,
  mean,
  partNames,
  partsOf,
  sampleVariance,
  SPREAD_EPSILON,
  whitened,
  withinGroups,
} from './groups.ts'
import { lengthPenalty, mayLearn, shapedReward, shapedTurnRewards } from './rewards.ts'
import { spreadOverTurns, turnOfTokens } from './turns.ts'

/** Rewards to compare, those of one group or of one turn of it, and the divisor. */
export interface Compared {
  readonly rewards: readonly number[]
  readonly mean: number
  /**
   * Sample standard deviation (n−1) of the group or the batch, as `advantageNorm` says, plus 1e-8; 1 without division.
   */
  readonly deviation: number
}

/** One advantage per reward. Called only if rewards differ by more than rounding; equal rewards give exactly 0. */
export type Comparison = (compared: Compared) => readonly number[]

/** Advantages before they are copied onto tokens: one cell per trajectory, or one per turn. */
export interface AdvantageCells {
  /** [B][cells] */
  readonly cells: readonly (readonly number[])[]
  /** [B][T] the cell of each action token, −1 elsewhere. */
  readonly cellIds: readonly Int32Array[]
  readonly granularity: 'trajectory' | 'turn'
  readonly kept: readonly number[]
}

/** `level`: of the importance ratio, which `auto` granularity follows. Filtered rows are excluded from the update. */
export function groupAdvantages(
  batch: readonly Experience[],
  settings: GroupAdvantageSettings,
  level: RatioLevel,
  comparison: Comparison,
): Advantages {
  const { cells, cellIds, kept } = advantageCells(batch, settings, level, comparison)
  return { tokens: cells.map((row, i) => spreadOverTurns(row, cellIds[i]!)), returns: null, kept }
}

/** Computes advantages in the order raw → filter → whiten → clip. */
export function advantageCells(
  batch: readonly Experience[],
  settings: GroupAdvantageSettings,
  level: RatioLevel,
  comparison: Comparison,
): AdvantageCells {
  const isTurnLevel = granularityAt(settings, level) === 'turn'
  const perTurn = isTurnLevel && batch.some(({ turnIds }) => turnIds !== null)
  const cellIds = batch.map(perTurn ? turnOfTokens : actionsAsOneCell)
  const isByPart = settings.rewardAggregation === 'normalize-then-sum'
  const whole = isByPart ? partAdvantages : trajectoryAdvantages
  const raw = perTurn
    ? turnCells(batch, cellIds, settings, comparison)
    : whole(batch, settings, comparison).map((advantage) => [advantage])
  const kept = batch
    .map((_, i) => i)
    .filter((i) => mayLearn(batch[i]!, settings))
    .filter((i) => !settings.filterZeroAdvantages || teaches(raw[i]!, settings))
  const learning = kept.length > 0 ? kept : batch.map((_, i) => i)
  const entries = learning.flatMap((row) => (perTurn ? tokenEntries(row, cellIds[row]!) : [{ row, cell: 0 }]))
  const limit = settings.advantageClipRange ?? Infinity
  const isWhitened = settings.whitenAdvantages || isByPart
  const cells = (isWhitened ? whitenedCells(raw, entries) : raw).map((row) =>
    row.map((advantage) => Math.min(Math.max(advantage, -limit), limit)),
  )
  return { cells, cellIds, granularity: perTurn ? 'turn' : 'trajectory', kept }
}

const actionsAsOneCell = ({ actionMask }: Experience): Int32Array =>
  Int32Array.from(actionMask, (isAction) => isAction - 1)

/** [B] the sum of the turns' rewards, compared within the group; 0 for a group of one. */
function trajectoryAdvantages(
  batch: readonly Experience[],
  { advantageNorm, ...settings }: GroupAdvantageSettings,
  comparison: Comparison,
): number[] {
  const totals = batch.map((row) => shapedReward(row, settings))
  const compare = comparing(comparison, advantageNorm, totals)
  return withinGroups(batch, totals, compare).map((advantage) => advantage ?? 0)
}

/**
 * [B] each part of the rewards compared within the group, then the weighted sum, in which a part that does not apply is left out; the
 * length penalty is a part. Liu et al. 2026 (GDPO), arXiv:2601.05242, eq. 4 and 5; its eq. 6 is the whitening.
 */
function partAdvantages(
  batch: readonly Experience[],
  { advantageNorm, ...settings }: GroupAdvantageSettings,
  comparison: Comparison,
): number[] {
  const compared = (values: readonly (number | null)[]) => {
    const compare = comparing(
      comparison,
      advantageNorm,
      values.filter((value) => value !== null),
    )
    return withinGroups(batch, values, compare)
  }
  const sums = compared(batch.map((row) => -lengthPenalty(row, settings))).map((advantage) => advantage ?? 0)
  for (const name of partNames(batch)) {
    const parts = batch.map((row) => partsOf(row)[name])
    compared(parts.map((part) => part?.value ?? null)).forEach(
      (advantage, i) => (sums[i]! += (parts[i]?.weight ?? 0) * (advantage ?? 0)),
    )
  }
  return sums
}

/**
 * [B][turns]: each turn's reward, compared with the members of the group that played that turn; 0 for a turn not
 * played.
 */
function turnCells(
  batch: readonly Experience[],
  turnIds: readonly Int32Array[],
  settings: GroupAdvantageSettings,
  comparison: Comparison,
): number[][] {
  const turns = Math.max(...batch.map(({ turnRewards }) => turnRewards.length))
  const rewards = batch.map((row, i) => playedRewards(shapedTurnRewards(row, settings), turnIds[i]!, turns))
  const all = rewards.flat().filter((reward) => reward !== null)
  const compare = comparing(comparison, settings.advantageNorm, all)
  const againstOthers = (members: readonly number[]) =>
    members.length < 2 ? members.map(() => null) : compare(members)
  const byTurn = Array.from({ length: turns }, (_, turn) =>
    withinGroups(
      batch,
      rewards.map((row) => row[turn]!),
      againstOthers,
    ),
  )
  const whole = trajectoryAdvantages(batch, settings, comparison)
  return rewards.map((row, i) => {
    const alone = settings.turnAdvantageFallback ? whole[i]! : 0
    return row.map((reward, turn) => (reward === null ? 0 : (byTurn[turn]![i] ?? alone)))
  })
}

/** [turns]; null for a turn without tokens. */
function playedRewards(rewards: readonly number[], turnIds: Int32Array, turns: number): (number | null)[] {
  const played = new Array<number | null>(turns).fill(null)
  for (const turn of turnIds) {
    if (turn >= turns)
      throw new Error(`Expected a reward for every turn, got turn ${turn} and ${turns} rewards.`)
    if (turn >= 0) played[turn] = rewards[turn] ?? 0
  }
  return played
}

/** `all`: the rewards of the whole batch. */
function comparing(
  comparison: Comparison,
  norm: GroupAdvantageSettings['advantageNorm'],
  all: readonly number[],
): (rewards: readonly number[]) => readonly number[] {
  const spreadOf = (values: readonly number[]) => Math.sqrt(sampleVariance(values)) + SPREAD_EPSILON
  const ofBatch = norm === 'mean-batch-std' ? spreadOf(all) : 1
  return (rewards) => {
    if (hasNoSpread(rewards)) return rewards.map(() => 0)
    const deviation = norm === 'mean-std' ? spreadOf(rewards) : ofBatch
    return comparison({ rewards, mean: mean(rewards), deviation })
  }
}

const teaches = (row: readonly number[], { advantageFilterEpsilon }: GroupAdvantageSettings): boolean =>
  row.some((advantage) => Math.abs(advantage) > advantageFilterEpsilon)

interface CellEntry {
  readonly row: number
  readonly cell: number
}

/** One entry per action token, so that longer turns have more weight. */
const tokenEntries = (row: number, cellIds: Int32Array): CellEntry[] =>
  [...cellIds].filter((cell) => cell >= 0).map((cell) => ({ row, cell }))

/** Whitens over `entries`; cells without an entry are unchanged. */
function whitenedCells(cells: readonly (readonly number[])[], entries: readonly CellEntry[]): number[][] {
  const values = whitened(entries.map(({ row, cell }) => cells[row]![cell]!))
  const result = cells.map((row) => [...row])
  entries.forEach(({ row, cell }, entry) => (result[row]![cell] = values[entry]!))
  return result
}

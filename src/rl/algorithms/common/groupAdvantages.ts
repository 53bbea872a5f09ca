/**
 * Advantages against the other trajectories of the same prompt. Shao et al. 2024, arXiv:2402.03300, §4.1.2; the
 * standard deviation is the sample's (n−1), and equal rewards give exactly 0.
 */
import type { Advantages, Experience } from '../types.ts'
import { type LengthSettings, mayLearn, shapedReward, shapedTurnRewards } from './lengthShaping.ts'
import { centered, sampleVariance, SPREAD_EPSILON, standardized, whitened } from './statistics.ts'
import { spreadOverTurns, turnOfTokens } from './turns.ts'

/** Centred in the group; divided by the spread of the group, of the whole batch, or not at all. */
export type AdvantageNorm = 'mean-std' | 'mean-batch-std' | 'mean-only'

export interface GroupAdvantageSettings extends LengthSettings {
  readonly advantageNorm: AdvantageNorm
  /** One number per trajectory, or one per turn. */
  readonly granularity: 'trajectory' | 'turn'
  /** A turn that only one member of the group played takes the trajectory's advantage instead of 0. */
  readonly turnFallback: boolean
  readonly whitenAdvantages: boolean
  /** Advantages are limited to ±this; null = off. */
  readonly advantageClipRange: number | null
  /** Leaves out trajectories whose advantage is nowhere larger than `advantageFilterEpsilon`. */
  readonly filterZeroAdvantages: boolean
  readonly advantageFilterEpsilon: number
}

/** Advantages before they are copied onto tokens: one cell per trajectory, or one per turn. */
export interface AdvantageCells {
  /** [B][cells] */
  readonly cells: readonly (readonly number[])[]
  /** [B][T] the cell of each action token, −1 elsewhere. */
  readonly cellIds: readonly Int32Array[]
  readonly granularity: 'trajectory' | 'turn'
  readonly kept: readonly number[]
}

/** Advantages of the whole batch, copied onto every action token; filtered rows leave the update. */
export function groupAdvantages(batch: readonly Experience[], settings: GroupAdvantageSettings): Advantages {
  const { cells, cellIds, kept } = advantageCells(batch, settings)
  return { tokens: cells.map((row, i) => spreadOverTurns(row, cellIds[i]!)), returns: null, kept }
}

/** In the order raw → filter → whiten → limit. */
export function advantageCells(
  batch: readonly Experience[],
  settings: GroupAdvantageSettings,
): AdvantageCells {
  const perTurn = settings.granularity === 'turn' && batch.some(({ turnIds }) => turnIds !== null)
  const cellIds = batch.map(perTurn ? turnOfTokens : actionsAsOneCell)
  const raw = perTurn ? turnCells(batch, cellIds, settings) : trajectoryCells(batch, settings)
  const kept = batch
    .map((_, i) => i)
    .filter((i) => mayLearn(batch[i]!, settings))
    .filter((i) => !settings.filterZeroAdvantages || teaches(raw[i]!, settings))
  const learning = kept.length > 0 ? kept : batch.map((_, i) => i)
  const entries = learning.flatMap((row) => (perTurn ? tokenEntries(row, cellIds[row]!) : [{ row, cell: 0 }]))
  const cells = limited(
    settings.whitenAdvantages ? whitenedCells(raw, entries) : raw,
    settings.advantageClipRange,
  )
  return { cells, cellIds, granularity: perTurn ? 'turn' : 'trajectory', kept }
}

const actionsAsOneCell = ({ actionMask }: Experience): Int32Array =>
  Int32Array.from(actionMask, (isAction) => isAction - 1)

/** [B][1]: the sum of the turns' rewards against the group's. */
function trajectoryCells(batch: readonly Experience[], settings: GroupAdvantageSettings): number[][] {
  const totals = batch.map((row) => shapedReward(row, settings))
  const groups = batch.map(({ group }) => group)
  return trajectoryAdvantages(totals, groups, settings.advantageNorm).map((advantage) => [advantage])
}

/** [B][turns]: each turn's reward against the members of the group that played it; 0 for a turn not played. */
function turnCells(
  batch: readonly Experience[],
  turnIds: readonly Int32Array[],
  settings: GroupAdvantageSettings,
): number[][] {
  const turns = Math.max(...batch.map(({ turnRewards }) => turnRewards.length))
  const played = turnIds.map((row) => playedTurns(row, turns))
  const rewards = batch
    .map((row) => shapedTurnRewards(row, settings))
    .map((row) => Array.from({ length: turns }, (_, k) => row[k] ?? 0))
  const groups = batch.map(({ group }) => group)
  const compared = turnAdvantages(rewards, played, groups, settings.advantageNorm)
  const whole = trajectoryCells(batch, settings)
  return compared.map((row, i) => {
    const alone = settings.turnFallback ? whole[i]![0]! : 0
    return row.map((advantage, turn) => (played[i]![turn] ? (advantage ?? alone) : 0))
  })
}

function playedTurns(turnIds: Int32Array, turns: number): boolean[] {
  const played = new Array<boolean>(turns).fill(false)
  for (const turn of turnIds) {
    if (turn >= turns)
      throw new Error(`Expected a reward for every turn, got turn ${turn} and ${turns} rewards.`)
    if (turn >= 0) played[turn] = true
  }
  return played
}

/** Each reward against its group; a group of one has nothing to compare with and gives 0. rewards, groups: [B]. */
function trajectoryAdvantages(
  rewards: readonly number[],
  groups: readonly number[],
  norm: AdvantageNorm,
): number[] {
  const advantages = new Array<number>(rewards.length).fill(0)
  const normalize = normalizer(norm, rewards)
  for (const members of membersByGroup(groups)) {
    const normalized = normalize(members.map((i) => rewards[i]!))
    members.forEach((i, position) => (advantages[i] = normalized[position]!))
  }
  return advantages
}

/**
 * Each turn's reward against the members of its group that played the turn. rewards, played: [B][K]; returns [B][K],
 * null where the turn was not played or had nobody to be compared with.
 */
export function turnAdvantages(
  rewards: readonly (readonly number[])[],
  played: readonly (readonly boolean[])[],
  groups: readonly number[],
  norm: AdvantageNorm,
): (number | null)[][] {
  const advantages = rewards.map((row) => row.map((): number | null => null))
  const turns = rewards[0]?.length ?? 0
  const normalize = normalizer(
    norm,
    rewards.flatMap((row, i) => row.filter((_, turn) => played[i]![turn])),
  )
  for (const group of membersByGroup(groups)) {
    for (let turn = 0; turn < turns; turn++) {
      const members = group.filter((i) => played[i]![turn])
      if (members.length < 2) continue
      const normalized = normalize(members.map((i) => rewards[i]![turn]!))
      members.forEach((i, position) => (advantages[i]![turn] = normalized[position]!))
    }
  }
  return advantages
}

/** What is done to the rewards of one group; `all` are those of the whole batch. */
function normalizer(norm: AdvantageNorm, all: readonly number[]): (values: readonly number[]) => number[] {
  if (norm === 'mean-std') return standardized
  if (norm === 'mean-only') return centered
  const spread = Math.sqrt(sampleVariance(all)) + SPREAD_EPSILON
  return (values) => centered(values).map((value) => value / spread)
}

/** Row indices of each group, in order of first appearance. */
export function membersByGroup(groups: readonly number[]): number[][] {
  const members = new Map<number, number[]>()
  groups.forEach((group, i) => {
    const known = members.get(group)
    if (known) known.push(i)
    else members.set(group, [i])
  })
  return [...members.values()]
}

const teaches = (row: readonly number[], { advantageFilterEpsilon }: GroupAdvantageSettings): boolean =>
  row.some((advantage) => Math.abs(advantage) > advantageFilterEpsilon)

interface CellEntry {
  readonly row: number
  readonly cell: number
}

/** One entry per action token, so that long turns weigh more. */
const tokenEntries = (row: number, cellIds: Int32Array): CellEntry[] =>
  [...cellIds].filter((cell) => cell >= 0).map((cell) => ({ row, cell }))

/** Whitens over `entries`; cells without an entry stay as they are. */
function whitenedCells(cells: readonly (readonly number[])[], entries: readonly CellEntry[]): number[][] {
  const values = whitened(entries.map(({ row, cell }) => cells[row]![cell]!))
  const result = cells.map((row) => [...row])
  entries.forEach(({ row, cell }, entry) => (result[row]![cell] = values[entry]!))
  return result
}

function limited(cells: readonly (readonly number[])[], range: number | null): number[][] {
  const limit = range ?? Infinity
  return cells.map((row) => row.map((advantage) => Math.min(Math.max(advantage, -limit), limit)))
}

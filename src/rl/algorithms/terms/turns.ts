/** Tokens and turns: which tokens belong together, and moving numbers between tokens and turns. */

export type TurnReduction = 'mean' | 'sum' | 'final-value'
export type ReturnGranularity = 'token' | 'turn'

/** Turn of each action token, −1 elsewhere. Without turn ids every action token is in turn 0. */
export function turnOfTokens(row: { actionMask: Uint8Array; turnIds: Int32Array | null }): Int32Array {
  return Int32Array.from(row.actionMask, (isAction, t) => (isAction === 1 ? (row.turnIds?.[t] ?? 0) : -1))
}

/** Number of turns of one row: highest turn id plus one, 0 without an action token. */
export function turnCount(turnIds: Int32Array): number {
  return turnIds.reduce((highest, turn) => Math.max(highest, turn), -1) + 1
}

/** Reduces each turn of one row to a number; a turn without tokens gives 0. values, turnIds: [T]; returns [turns]. */
export function poolByTurns(
  values: Float64Array,
  turnIds: Int32Array,
  turns: number,
  reduction: TurnReduction,
): Float64Array {
  const pooled = new Float64Array(turns)
  const counts = new Int32Array(turns)
  turnIds.forEach((turn, t) => {
    if (turn < 0) return
    counts[turn]! += 1
    pooled[turn] = reduction === 'final-value' ? values[t]! : pooled[turn]! + values[t]!
  })
  if (reduction !== 'mean') return pooled
  return pooled.map((sum, turn) => sum / Math.max(counts[turn]!, 1))
}

/** Copies each turn's number onto its tokens, 0 elsewhere. perTurn: [turns]; returns [T]. */
export function spreadOverTurns(perTurn: ArrayLike<number>, turnIds: Int32Array): Float64Array {
  return Float64Array.from(turnIds, (turn) => (turn < 0 ? 0 : perTurn[turn]!))
}

/** `auto` is per token when every trajectory of the batch has at most one turn, else per turn. turnIds: [B][T]. */
export function resolveAdvantageGranularity(
  setting: 'auto' | ReturnGranularity,
  turnIds: readonly Int32Array[],
): ReturnGranularity {
  if (setting !== 'auto') return setting
  return turnIds.every((row) => turnCount(row) <= 1) ? 'token' : 'turn'
}

export const actionCount = ({ actionMask }: { readonly actionMask: Uint8Array }): number =>
  actionMask.reduce((count, isAction) => count + isAction, 0)

/** Number of action tokens of all rows. */
export const actionTotal = (rows: readonly { readonly actionMask: Uint8Array }[]): number =>
  rows.reduce((total, row) => total + actionCount(row), 0)

/**
 * Groups the tokens of a batch: for every level its number of values, and for each value the one it belongs to at each
 * coarser level.
 */
import type { Level } from '#shared/lossLanguage.ts'
import type { LossRow } from '../algorithms/types.ts'
import type { Units } from '../algorithms/terms/differentiable.ts'

export interface Layout {
  /** First token of each sequence, and the number of all. [B+1] */
  readonly offsets: Int32Array
  readonly counts: Readonly<Record<Level, number>>
  /** Index of the value of `coarse` that each value of `fine` belongs to; −1 for those that belong to none. */
  units(fine: Level, coarse: Level): Units
}

type Row = Pick<LossRow, 'actionMask' | 'turnIds' | 'group' | 'likeliest'>

/** Alternatives that a row tells in the place of each token. */
export const alternativesOf = ({ likeliest, actionMask }: Pick<Row, 'likeliest' | 'actionMask'>): number =>
  likeliest === undefined ? 1 : likeliest.ids.length / actionMask.length

export function layoutOf(rows: readonly Row[]): Layout {
  const tokens = tokensOf(rows)
  const groups = new Map<number, number>()
  const groupOfSequence = rows.map(({ group }) => {
    if (!groups.has(group)) groups.set(group, groups.size)
    return groups.get(group)!
  })
  const each = rows[0] === undefined ? 1 : alternativesOf(rows[0])
  const counts = {
    alternative: tokens.sequences.length * each,
    token: tokens.sequences.length,
    turn: tokens.sequenceOfTurn.length,
    sequence: rows.length,
    pair: rows.length >> 1,
    group: groups.size,
    position: tokens.positions.reduce((most, position) => Math.max(most, position + 1), 0),
    batch: 1,
  }
  const indexOf = unitIndices(tokens, groupOfSequence, counts)
  const known = new Map<string, Units>()
  return {
    offsets: tokens.offsets,
    counts,
    units(fine, coarse) {
      const key = `${fine} ${coarse}`
      const units = known.get(key) ?? withSizes(indexOf(fine, coarse), counts[coarse])
      known.set(key, units)
      return units
    },
  }
}

/** Units that each token of a batch belongs to, [N]; −1: none. */
interface TokenUnits {
  readonly offsets: Int32Array
  readonly sequences: Int32Array
  readonly turns: Int32Array
  readonly sequenceOfTurn: readonly number[]
  /** Index of the action token within its sequence. */
  readonly positions: Int32Array
}

function tokensOf(rows: readonly Row[]): TokenUnits {
  const offsets = new Int32Array(rows.length + 1)
  rows.forEach(({ actionMask }, i) => (offsets[i + 1] = offsets[i]! + actionMask.length))
  const count = offsets[rows.length]!
  const [sequences, sequenceOfTurn] = [new Int32Array(count), new Array<number>()]
  const [turns, positions] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)]
  for (const [row, { actionMask, turnIds }] of rows.entries()) {
    const known = new Map<number, number>()
    let position = 0
    sequences.fill(row, offsets[row], offsets[row + 1])
    for (let t = 0; t < actionMask.length; t++) {
      if (actionMask[t] !== 1) continue
      const turn = turnIds?.[t] ?? 0
      if (!known.has(turn)) known.set(turn, sequenceOfTurn.push(row) - 1)
      turns[offsets[row]! + t] = known.get(turn)!
      positions[offsets[row]! + t] = position++
    }
  }
  return { offsets, sequences, turns, sequenceOfTurn, positions }
}

/** Index of the coarser value that each value of a finer level belongs to. */
function unitIndices(
  { sequences, turns, sequenceOfTurn, positions }: TokenUnits,
  groupOfSequence: readonly number[],
  counts: Layout['counts'],
): (fine: Level, coarse: Level) => Int32Array {
  const steps: Readonly<Record<string, ArrayLike<number> | undefined>> = {
    'token turn': turns,
    'token sequence': sequences,
    'token position': positions,
    'turn sequence': sequenceOfTurn,
    'sequence group': groupOfSequence,
  }
  // Tokens outside of any turn still belong to a sequence.
  const above: Partial<Record<Level, Level>> = { token: 'sequence', turn: 'sequence', sequence: 'group' }
  const indexOf = (fine: Level, coarse: Level): Int32Array => {
    const direct = steps[`${fine} ${coarse}`]
    if (direct) return Int32Array.from(direct)
    if (coarse === 'batch') return new Int32Array(counts[fine])
    if (coarse === fine) return Int32Array.from({ length: counts[fine] }, (_, i) => i)
    if (fine === 'alternative') {
      const each = counts.alternative / counts.token
      const ofToken = indexOf('token', coarse)
      return Int32Array.from({ length: counts.alternative }, (_, i) => ofToken[Math.floor(i / each)]!)
    }
    const next = above[fine]
    if (next === undefined) throw new Error(`Expected ${coarse} above ${fine}.`)
    const rest = indexOf(next, coarse)
    return indexOf(fine, next).map((unit) => rest[unit]!)
  }
  return indexOf
}

function withSizes(of: Int32Array, count: number): Units {
  const sizes = new Int32Array(count)
  for (const unit of of) if (unit >= 0) sizes[unit]!++
  return { of, sizes }
}

/** Rows never trained on, drawn from the rest by what they say. */
import { plural } from '#shared/plural.ts'
import { hash } from 'node:crypto'
import { AppError } from '#shared/errors.ts'
import type { DataRow } from './dataFile.ts'
import { normalText, wholeRow } from './overlap.ts'

/** How much is held out: a share (rows added later move none), or a number of rows. */
export type SplitRule =
  { readonly share: number; readonly seed: number } | { readonly rows: number; readonly seed: number }

export interface SplitResult {
  readonly train: readonly DataRow[]
  readonly heldOut: readonly DataRow[]
  readonly places: RowPlaces
}

/** Where each row of a part stands in its data set, from 0. */
export interface RowPlaces {
  readonly train: readonly number[]
  readonly heldOut: readonly number[]
}

/**
 * Uniform in [0, 1), from the seed and the row's values; the order of its columns, white space and case make no
 * difference, so copies of a row always fall on the same side.
 */
function drawOf(row: DataRow, seed: number): number {
  const digest = hash('sha256', `${seed}\n${normalText(wholeRow(row))}`, 'buffer')
  return (digest.readUInt32BE(0) * 0x200000 + (digest.readUInt32BE(4) >>> 11)) / 0x20000000000000
}

/** Both parts in the order of the rows. Errors: AppError 'data/invalid' where one of them would be empty. */
export function splitRows(rows: readonly DataRow[], rule: SplitRule): SplitResult {
  const draws = rows.map((row) => drawOf(row, rule.seed))
  const limit = 'share' in rule ? rule.share : countLimit(draws, rule.rows)
  const isHeldOut = draws.map((draw) => draw < limit)
  const part = (side: boolean) => rows.filter((_, index) => isHeldOut[index] === side)
  const placesOf = (side: boolean) => [...rows.keys()].filter((index) => isHeldOut[index] === side)
  const result = { train: part(false), heldOut: part(true) }
  const places = { train: placesOf(false), heldOut: placesOf(true) }
  for (const [name, side] of [
    ['training', result.train],
    ['validation', result.heldOut],
  ] as const) {
    if (side.length === 0) {
      throw new AppError(
        'data/invalid',
        `The split of ${plural(rows.length, 'row')} leaves no ${name} row.`,
        'Change data.heldOut.',
      )
    }
  }
  return { ...result, places }
}

/** The lowest `count` draws; copies of one row, whose draws are equal, stay together. */
function countLimit(draws: readonly number[], count: number): number {
  const sorted = draws.toSorted((a, b) => a - b)
  return sorted[count] ?? Infinity
}

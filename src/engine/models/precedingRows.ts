/** Rows that short convolutions read while learning: those before each among packed ones. */
import { input, type Value } from '../graph/value.ts'
import { unpackRows } from '../ops/gather.ts'

/** Names a graph input [N]: for each packed row, the row of the token `back` positions earlier in its sequence; N where there is none. */
export const rowsBeforeName = (back: number): `rows ${number} before` => `rows ${back} before`
/** Graph inputs: the rows that read each row so, among all these, as in `RowMap`. */
export const readersNames = {
  rows: 'readers',
  shared: 'readers of shared rows',
  places: 'shared rows',
} as const
export type PrecedingName =
  ReturnType<typeof rowsBeforeName> | (typeof readersNames)[keyof typeof readersNames]

/** The packed rows before each, up to `count` positions back. */
export function precedingRows(x: Value, count: number): readonly Value[] {
  const slots = Array.from({ length: count }, (_, index) => input(rowsBeforeName(index + 1), 'int64', ['N']))
  return unpackRows(x, {
    slots,
    rows: input(readersNames.rows, 'int64', [count, 'N']),
    shared: {
      slots: input(readersNames.shared, 'int64', ['m', 'r']),
      places: input(readersNames.places, 'int64', ['N']),
    },
  })
}

/** Finds the columns that hold marks. */
import { markNames as names, markOf, verdicts } from '#rl/rollout/marks.ts'
import { type Columns, plainName } from './columnKinds.ts'

const isVerdict = (value: unknown): boolean =>
  typeof value === 'string' && Object.values(verdicts).some((words) => words.test(value.trim()))

/** Returns true if a column is named like a column of marks. */
export const isKtoName = (column: string): boolean => names.includes(plainName(column))

/** Names under which a number may as well be a class or a place. */
const vague: readonly string[] = ['label', 'labels']

/** Returns true if values are marks and each side is written in one way: with 1, 0 and -1, nothing says what 0 is. */
function areMarks(values: readonly unknown[]): boolean {
  const said = values.map((value) => String(value).trim())
  return (
    values.length > 0 &&
    values.every((value) => markOf(value) !== null) &&
    !(said.some((each) => /^0/.test(each)) && said.some((each) => each.startsWith('-')))
  )
}

/** Returns true if a column holds marks beyond doubt: by its name, or by the words in it. */
function isMarks(columns: Columns, column: string): boolean {
  const values = columns.values(column)
  if (!areMarks(values)) return false
  return names.includes(plainName(column)) || values.every(isVerdict)
}

/** Returns true if nothing but a mark can be meant, whatever column the answer is in. */
export const isSureMarks = (columns: Columns, column: string): boolean =>
  isMarks(columns, column) &&
  (columns.kind(column) === 'boolean' ||
    !vague.includes(plainName(column)) ||
    columns.values(column).every(isVerdict))

/** The column of marks; the names that KTO has for it come first. */
export function marksIn(columns: Columns, accepts = isMarks): string | undefined {
  const named = columns.find(names.slice(0, 3))
  const all = [...(named === undefined ? [] : [named]), ...columns.kinds.keys()]
  return all.find((column) => accepts(columns, column))
}

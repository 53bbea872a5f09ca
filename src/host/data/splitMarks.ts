/** Finds columns that say of each row whether it is for training or for testing. */
import { plainName, type Columns } from './columnKinds.ts'

const names = ['split', 'subset', 'partition', 'fold', 'set']
const held = /^(?:test|valid|validation|val|dev|eval|evaluation|held_?out)$/

/** A sentence on a column that marks some rows as held out: nothing keeps them from being trained on. */
export function splitDoubts(columns: Columns): string[] {
  const column = columns.find(names, (kind) => kind === 'text')
  if (column === undefined) return []
  const values = columns.values(column).map(String)
  const isHeld = (value: string) => held.test(plainName(value))
  const count = values.filter(isHeld).length
  return count === 0 || count === values.length
    ? []
    : [
        `“${column}” marks ${count} of the first ${columns.rows.length} rows as “${values.find(isHeld) ?? ''}”. They are rows like all others and are trained on, too: write them to a file of their own, which \`data.heldOut\` of a run can name.`,
      ]
}

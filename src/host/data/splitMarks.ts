/** Finds columns that say of each row whether it is for training or for testing. */
import { plainName, type Columns } from './columnKinds.ts'

const names = ['split', 'subset', 'partition', 'fold', 'set']
const held = /^(?:test|valid|validation|val|dev|eval|evaluation|held_?out)$/

/** A sentence on a column that marks some rows as held out: nothing keeps them from being trained on. */
export function splitDoubts(columns: Columns): string[] {
  const column = columns.find(names, (kind) => kind === 'text')
  if (column === undefined) return []
  const values = columns.values(column).filter((value) => typeof value === 'string')
  const isHeld = (value: unknown) => typeof value === 'string' && held.test(plainName(value))
  const found = values.find(isHeld)
  const { length } = columns.rows
  const count = columns.rows.filter((row) => isHeld(row[column])).length
  const marked = count > 0 && count < length ? `${count} of the first ${length} rows` : 'rows'
  return found === undefined || values.every(isHeld)
    ? []
    : [
        `“${column}” marks ${marked} as “${found}”. They are rows like all others and are trained on, too: write them to a file of their own, which \`data.heldOut\` of a run can name.`,
      ]
}

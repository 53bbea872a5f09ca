/**
 * Picks the rows that say what the columns are: the first ones, and of all others those that show something new, a column
 * that was empty before them or another short value (a mark, a language, a split). So a file means the same in whatever
 * order its rows stand, and memory does not grow with it.
 */
import type { DataRow } from './dataFile.ts'
import type { DataSetVersion } from './dataSetVersion.ts'

const firstRows = 200
/** Most rows that are picked because a column that was empty has a value. */
const filledRows = 20
const mostValues = 8
const longestValue = 16
const mostLater = 2_000

interface Column {
  readonly type: string
  readonly values: Set<unknown>
  filled: number
}

export interface Telling {
  readonly first: readonly DataRow[]
  readonly later: readonly DataRow[]
}

export class TellingRows implements Telling {
  readonly first: DataRow[] = []
  readonly later: DataRow[] = []
  readonly #columns = new Map<string, Column>()
  #count = 0

  /** Rows that were looked at. */
  get count(): number {
    return this.#count
  }

  add(row: DataRow): void {
    let isTelling = false
    for (const name in row) if (this.#tells(name, row[name])) isTelling = true
    if (this.#count++ < firstRows) this.first.push(row)
    else if (isTelling && this.later.length < mostLater) this.later.push(row)
  }

  #tells(name: string, value: unknown): boolean {
    if (!isFilled(value)) return false
    let column = this.#columns.get(name)
    if (column === undefined)
      this.#columns.set(name, (column = { type: typeof value, values: new Set(), filled: 0 }))
    const isNew = ++column.filled <= filledRows
    // A value of another type says more of its row than of the column.
    if (column.values.size >= mostValues || typeof value !== column.type || !isShort(value)) return isNew
    const before = column.values.size
    return column.values.add(value).size > before || isNew
  }
}

/** Says that later rows may have other columns. */
export const judgedBy = (count: number): string =>
  `What the columns are was judged by the first ${count} rows.`

/** Picks them from the rows of a version, at most the first `most`. */
export async function tellingRowsOf(version: DataSetVersion, most = Infinity): Promise<TellingRows> {
  const telling = new TellingRows()
  for await (const rows of version.batches()) {
    for (const row of rows) telling.add(row)
    if (telling.count >= most) break
  }
  return telling
}

/** Picks them from rows in memory. */
export function tellingRows(rows: Iterable<DataRow>): Telling {
  const telling = new TellingRows()
  for (const row of rows) telling.add(row)
  return telling
}

const isShort = (value: unknown): boolean =>
  typeof value === 'string' ? value.length <= longestValue : typeof value !== 'object'

/** Returns true unless a value is null, an empty list or white space. */
const isFilled = (value: unknown): boolean =>
  typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) ? value.length > 0 : value != null

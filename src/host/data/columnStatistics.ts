/** Statistics of each column: types, empty values, lengths and distinct values. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import type { DataRow } from './dataFile.ts'
import { oddForm } from './oddForm.ts'

const kinds = ['text', 'number', 'boolean', 'list', 'object', 'null'] as const
type Kind = (typeof kinds)[number]

const range = z.strictObject({ min: z.number(), mean: z.number(), max: z.number() })

export const columnStatisticsSchema = z.strictObject({
  name: z.string(),
  /** Values by kind; nulls are a kind, rows without the column are not counted here. */
  kinds: z.partialRecord(z.enum(kinds), count),
  /** Rows that lack the column. */
  missing: count,
  /** Different values; null: more than 10,000. */
  unique: count.nullable(),
  /** Characters of texts, entries of lists; null where there are none of either. */
  length: range.nullable(),
  /** Range of the numbers; null where there are none. */
  value: range.nullable(),
  /** Values that say nothing by their form (`oddValues.ts`); absent: none, or not counted. */
  odd: z.record(z.string(), count).optional(),
})

export type ColumnStatistics = z.output<typeof columnStatisticsSchema>

const maxUnique = 10_000
const maxColumns = 1_000
const longKey = 64

class Range {
  #count = 0
  #sum = 0
  #min = Infinity
  #max = -Infinity

  add(value: number): void {
    this.#count++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  summary(): { min: number; mean: number; max: number } | null {
    return this.#count === 0 ? null : { min: this.#min, mean: this.#sum / this.#count, max: this.#max }
  }
}

class Column {
  readonly #kinds = new Map<Kind, number>()
  readonly #length = new Range()
  readonly #value = new Range()
  #distinct: Set<unknown> | null = new Set()
  readonly #odd = new Map<string, number>()
  #rows = 0

  add(value: unknown): void {
    this.#rows++
    const form = oddForm(value)
    if (form !== null) this.#odd.set(form, (this.#odd.get(form) ?? 0) + 1)
    const kind = kindOf(value)
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
    if (typeof value === 'string' || Array.isArray(value)) this.#length.add(value.length)
    if (typeof value === 'number') this.#value.add(value)
    if (this.#distinct === null) return
    this.#distinct.add(keyOf(value))
    if (this.#distinct.size > maxUnique) this.#distinct = null
  }

  summary(name: string, rows: number): ColumnStatistics {
    return {
      name,
      kinds: Object.fromEntries(this.#kinds),
      missing: rows - this.#rows,
      unique: this.#distinct?.size ?? null,
      length: this.#length.summary(),
      value: this.#value.summary(),
      ...(this.#odd.size === 0 ? {} : { odd: Object.fromEntries(this.#odd) }),
    }
  }
}

function kindOf(value: unknown): Kind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'object') return 'object'
  if (typeof value === 'string') return 'text'
  return typeof value === 'number' ? 'number' : 'boolean'
}

/** Long values by their hash, so that ten thousand of them need no memory to speak of. */
function keyOf(value: unknown): unknown {
  if (typeof value !== 'object' && typeof value !== 'string') return value
  const text = typeof value === 'string' ? `"${value}` : JSON.stringify(value)
  return text.length <= longKey ? text : createHash('sha1').update(text).digest('base64')
}

/** Collects statistics row by row; columns beyond the first thousand are not counted. */
export class TableStatistics {
  readonly #columns = new Map<string, Column>()
  #rows = 0

  add(row: DataRow): void {
    this.#rows++
    for (const name in row) this.#columnOf(name)?.add(row[name])
  }

  #columnOf(name: string): Column | undefined {
    const known = this.#columns.get(name)
    if (known !== undefined || this.#columns.size >= maxColumns) return known
    const column = new Column()
    this.#columns.set(name, column)
    return column
  }

  /** Statistics in the order in which the columns first appeared. */
  summary(): ColumnStatistics[] {
    return [...this.#columns].map(([name, column]) => column.summary(name, this.#rows))
  }
}

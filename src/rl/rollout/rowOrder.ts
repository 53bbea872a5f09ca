/**
 * The order in which a run draws its rows: pass after pass over all of them, each pass in its own seeded order. With a
 * column that says how hard a row is, a pass goes from the lowest number to the highest (curriculum learning: Bengio et
 * al. 2009).
 */
import { invalidData } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { DataRow } from './prompts.ts'

/** Separates the random numbers of the order from those of trajectories. */
const ORDER_PURPOSE = 0x0de5

export interface RowOrder<T> {
  readonly seed: number
  readonly shuffle: boolean
  /** Column of numbers by which a pass is sorted; null: it is not. Rows without a number come last. */
  readonly order: string | null
  readonly columnsOf: (item: T) => DataRow
  /** Rows that the run draws. Where there are more, a sorted pass is over so many, drawn by the seed: it reaches the hard ones. */
  readonly planned: number
}

/** Returns the `count` rows that follow the first `drawn`; may cross from one pass into the next. */
export type DrawRows<T> = (drawn: number, count: number) => T[]

/** Errors: AppError 'data/invalid' where no row has a number in the column. */
export function rowOrder<T>(items: readonly T[], { seed, shuffle, ...sorting }: RowOrder<T>): DrawRows<T> {
  const mixed = <U>(rows: readonly U[], pass: number): readonly U[] =>
    shuffle ? new SequentialRandom(randomStream(seed, ORDER_PURPOSE, pass)).shuffled(rows) : rows
  const { order, planned } = sorting
  const ranks = order === null ? null : ranksOf(items, order, sorting.columnsOf)
  const visited = ranks === null ? items : mixed(items, 0).slice(0, Math.max(1, planned))
  let pass = -1
  let current: readonly T[] = []
  return (drawn, count) =>
    Array.from({ length: count }, (_, i) => {
      const position = drawn + i
      if (Math.floor(position / visited.length) !== pass) {
        pass = Math.floor(position / visited.length)
        const next = mixed(visited, pass)
        current = ranks === null ? next : next.toSorted((a, b) => compared(ranks.get(a), ranks.get(b)))
      }
      return current[position % visited.length]!
    })
}

function ranksOf<T>(items: readonly T[], order: string, columnsOf: (item: T) => DataRow): Map<T, number> {
  const ranks = new Map<T, number>()
  for (const item of items) {
    const value = columnsOf(item)[order]
    const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
    const rank = isNumber ? Number(value) : Number.NaN
    if (Number.isFinite(rank)) ranks.set(item, rank)
  }
  if (ranks.size > 0) return ranks
  throw invalidData(
    `No row has a number in the column “${order}”, by which \`data.order\` sorts.`,
    'Name a column of numbers, or leave `data.order` out.',
  )
}

/** Takes two rows without a number for alike, unlike their difference. */
function compared(a = Infinity, b = Infinity): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

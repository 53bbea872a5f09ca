/** Rows that say the same: within a split they are learned twice, across splits they make a result look better. */
import { hash } from 'node:crypto'
import type { DataRow } from './dataFile.ts'

/** White space and case do not make two texts different. */
export const normalText = (text: string): string =>
  text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim()

export interface RowPair {
  /** Row numbers from 0. Duplicates: the first row like it, and the row. Leaks: training row, held-out row. */
  readonly first: number
  readonly second: number
  /** What both say, from the second row. */
  readonly text: string
}

export interface Matches {
  /** Rows that are like an earlier row (or, as leaks, like a training row). */
  readonly count: number
  /** The first thousand. */
  readonly pairs: readonly RowPair[]
}

export interface Overlap {
  readonly trainDuplicates: Matches
  readonly heldOutDuplicates: Matches
  readonly leaks: Matches
}

export type RowSource = Iterable<DataRow> | AsyncIterable<DataRow>

const maxPairs = 1_000
const shownLength = 200

/**
 * Compares what `textOf` says of each row (a prompt, or the whole row) after normalising white space and case. Of
 * every row only a hash is kept, so both sources may be streams.
 */
export async function findOverlap(
  train: RowSource,
  heldOut: RowSource,
  textOf: (row: DataRow) => string = wholeRow,
): Promise<Overlap> {
  const [trained, held] = [new Map<string, number>(), new Map<string, number>()]
  const [trainDuplicates, heldOutDuplicates, leaks] = [new Collector(), new Collector(), new Collector()]
  let number = 0
  for await (const row of train) {
    const text = textOf(row)
    trainDuplicates.note(remember(trained, text, number), number++, text)
  }
  number = 0
  for await (const row of heldOut) {
    const text = textOf(row)
    leaks.note(trained.get(keyOf(text)), number, text)
    heldOutDuplicates.note(remember(held, text, number), number++, text)
  }
  return {
    trainDuplicates: trainDuplicates.matches(),
    heldOutDuplicates: heldOutDuplicates.matches(),
    leaks: leaks.matches(),
  }
}

/** All columns, whatever their order; texts normalised. */
export function wholeRow(row: DataRow): string {
  const columns = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(
    columns.map(([name, value]) => [name, typeof value === 'string' ? normalText(value) : value]),
  )
}

const keyOf = (text: string): string => hash('sha1', normalText(text), 'base64')

/** The earlier row that says the same; undefined where this is the first. */
function remember(seen: Map<string, number>, text: string, number: number): number | undefined {
  const key = keyOf(text)
  const earlier = seen.get(key)
  if (earlier === undefined) seen.set(key, number)
  return earlier
}

class Collector {
  #count = 0
  readonly #pairs: RowPair[] = []

  note(first: number | undefined, second: number, text: string): void {
    if (first === undefined) return
    this.#count++
    if (this.#pairs.length < maxPairs) this.#pairs.push({ first, second, text: text.slice(0, shownLength) })
  }

  matches(): Matches {
    return { count: this.#count, pairs: this.#pairs }
  }
}

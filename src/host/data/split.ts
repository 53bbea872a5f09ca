/** Splits off validation rows by the hash of their content. */
import { hash } from 'node:crypto'
import { plural } from '#shared/plural.ts'
import { invalidData } from '#shared/errors.ts'
import type { DataRow } from './dataFile.ts'

/** Size of the held-out part: a share (rows added later move none), or a number of rows. */
export type SplitRule =
  { readonly share: number; readonly seed: number } | { readonly rows: number; readonly seed: number }

export interface SplitResult {
  readonly train: readonly DataRow[]
  readonly heldOut: readonly DataRow[]
  readonly places: RowPlaces
}

/** Place of each row of a part in its data set, from 0. */
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

/**
 * Splits rows into two parts, both in the order of the rows. Errors: AppError 'data/invalid' where one of them would be
 * empty.
 */
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
      throw invalidData(
        `Splitting ${plural(rows.length, 'row')} leaves no ${name} rows.`,
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

/* Rows that say the same: within a split they are learned twice, across splits they make a result look better. */

/** White space and case do not make two texts different. */
const normalText = (text: string): string =>
  text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim()

interface RowPair {
  /** Row numbers from 0. Duplicates: the first row like it, and the row. Leaks: training row, held-out row. */
  readonly first: number
  readonly second: number
  /** Common text of the two rows, as in the second one. */
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

type RowSource = Iterable<DataRow> | AsyncIterable<DataRow>

const maxPairs = 1_000
const shownLength = 200

/**
 * Compares the `textOf` of each row (a prompt, or the whole row) after normalising white space and case. Of every row
 * only a hash is kept, so both sources may be streams.
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

/** Returns all columns as text, whatever their order; texts normalised. */
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

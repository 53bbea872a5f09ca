/**
 * How much the tests go through, in three runs: every kind of behaviour in `npm test`; every case of a kind in
 * `npm run test:whole`, as in CI; every sweep of random cases in full in `npm run test:long`. What a shorter run leaves
 * out it names as skipped.
 */
import type { describe, test } from 'vitest'

export const isLong = process.env['TURNWISE_LONG'] === '1'

export const isWhole = isLong || process.env['TURNWISE_WHOLE'] === '1'

const titleIn = (run: string, isIt: boolean) => (title: string) =>
  isIt ? title : `${title} (in the ${run} run only)`

/** The name of a test that takes minutes, with `test.runIf(isLong)`. */
export const longTitle = titleIn('long', isLong)

/** The name of a test that says again what one of every run says, with `test.runIf(isWhole)`. */
export const wholeTitle = titleIn('whole', isWhole)

/** The number of cases: `short` in every run, `long` in the long one. */
export const casesOf = (short: number, long: number): number => (isLong ? long : short)

type Arguments<Row> = Row extends readonly unknown[] ? [...Row] : [row: Row]

interface Table<Row> {
  readonly rows: readonly Row[]
  /** Whether every run has it; the others belong to the whole run. */
  readonly isAlways: (row: Row) => boolean
}

/** `kind.each(rows)(title, body)`, in which shorter runs skip by name what the whole one has. */
export function eachOf<Row>(
  kind: Pick<typeof test, 'each' | 'skip'> | Pick<typeof describe, 'each' | 'skip'>,
  { rows, isAlways }: Table<Row>,
  title: string,
  body: (...row: Arguments<Row>) => unknown,
): void {
  const run = body as (...row: unknown[]) => Promise<void>
  kind.each(rows.filter(isAlways))(title, run)
  const others = isWhole ? kind : kind.skip
  others.each(rows.filter((row) => !isAlways(row)))(wholeTitle(title), run)
}
